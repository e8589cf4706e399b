package virtual

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"kvlab/internal/namespace"
)

// alone returns the program that EnterLoopback runs in these tests: it reaches itself, and
// nothing else.
func alone() int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	go func() {
		if conn, err := listener.Accept(); err == nil {
			io.WriteString(conn, "reached")
			conn.Close()
		}
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		fmt.Println(err)
		return 1
	}
	text, err := io.ReadAll(conn)
	_, out := net.Dial("tcp", "192.0.2.1:9") // an address for documents, RFC 5737
	fmt.Println(string(text), err, errors.Is(out, syscall.ENETUNREACH), os.Args[1:])
	return 7
}

func TestLoopback(t *testing.T) {
	cmd := exec.Command(namespace.Self, "an argument")
	cmd.Env = append(os.Environ(), enterVariable+"="+loopbackName)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() == 0 && os.Geteuid() != 0 {
		t.Skipf("no user namespaces here: %s", out)
	}
	if want := "reached <nil> true [an argument]\n"; string(out) != want || cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
}
