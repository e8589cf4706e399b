package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/engine"
	"kvlab/kvs/wire"
)

// filesVariable makes the test binary a server with a limit of open files.
const filesVariable = "KVLAB_TEST_FILES"

func TestMain(m *testing.M) {
	if files, err := strconv.ParseUint(os.Getenv(filesVariable), 10, 32); err == nil {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: files, Max: files}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(Program(nil).Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == storeWord {
		fmt.Fprintln(os.Stderr, runStore(os.Args[2], os.Args[3], os.Args[4], strings.Join(os.Args[6:], "")))
		os.Exit(1)
	}
	if len(os.Args) > 1 && os.Args[1] == hostWord {
		os.Exit(Program([]driver.Row{storeRow}).Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// A real server that runs out of files says so, keeps the clients that it has,
// and takes new ones when there is room again.
func TestTooManyFiles(t *testing.T) {
	// A sample of the machine would need a file too, and ends the server without one.
	server := exec.Command(os.Args[0], "-node", "node0", "-port", "0", "-sample-every", "0")
	server.Env = append(os.Environ(), filesVariable+"=40")
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	lines := bufio.NewScanner(stdout)
	_, addr, _ := strings.Cut(scanTo(t, lines, "Starting KVS server on "), " on ")
	connect := func() (*wire.Client, error) {
		client, _, err := wire.Dial(context.Background(), addr, wire.Options{Hello: wire.Hello{Node: "node1", Codec: "binary"}})
		return client, err
	}
	early, err := connect()
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()
	var crowd []net.Conn
	for range 60 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		crowd = append(crowd, conn)
	}
	scanTo(t, lines, "too many open files; retry in")
	for begun := time.Now(); time.Since(begun) < 3*memoryPause; { // the checks of memory want files too
		put(t, early, "early")
	}
	for _, conn := range crowd {
		conn.Close()
	}
	go io.Copy(io.Discard, stdout)
	var late *wire.Client
	eventually(t, "another client", func() bool {
		late, err = connect()
		return err == nil
	})
	defer late.Close()
	put(t, late, "late")
}

// scanTo reads to the first line that contains text.
func scanTo(t *testing.T, lines *bufio.Scanner, text string) string {
	t.Helper()
	found := make(chan string, 1)
	go func() {
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				found <- lines.Text()
				return
			}
		}
		close(found)
	}()
	select {
	case line, ok := <-found:
		if !ok {
			t.Fatalf("the server ends without a line with %q", text)
		}
		return line
	case <-time.After(2 * time.Minute):
		t.Fatalf("no line with %q", text)
		return ""
	}
}

// hostile are connections that mean no good. Each is one of a thousand; what is
// returned is held open.
var hostile = []struct {
	name    string
	refused bool // at once
	act     func(conn net.Conn)
}{
	{"silent", false, func(net.Conn) {}},
	{"half a hello", false, func(conn net.Conn) { conn.Write([]byte{90, 0, '{'}) }},
	{"a browser", true, func(conn net.Conn) { io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n") }},
	{"a hello of 64 KiB", true, func(conn net.Conn) { conn.Write(bytes.Repeat([]byte{0xff}, 1<<16)) }},
	{"zeros", true, func(conn net.Conn) { conn.Write(make([]byte, 1<<16)) }},
	{"gone at once", false, func(conn net.Conn) { conn.Close() }},
	{"reset", false, func(conn net.Conn) { conn.(*net.TCPConn).SetLinger(0); conn.Close() }},
	{"deep JSON", true, func(conn net.Conn) {
		text := strings.Repeat("[", 4000)
		conn.Write(append(binary.LittleEndian.AppendUint16(nil, uint16(len(text))), text...))
	}},
}

// A thousand hostile connections leave a good client's calls right and cost the
// server little; when they have gone, nothing of them is left.
func TestHostileConnections(t *testing.T) {
	const crowd = 1000
	l, lines := startListener(t, plain, engine.NewMutex(), 4096)
	good := mustDial(t, l)
	put(t, good, "before")
	goroutines := runtime.NumGoroutine()
	before := heapBytes()
	stop := make(chan struct{})
	var working sync.WaitGroup
	calls := 0
	working.Go(func() {
		var batch kvs.Batch
		batch.Append(kvs.Put, []byte("beside"), []byte("value"))
		for call := (kvs.Call{Batch: &batch, Reply: new(kvs.Reply)}); ; calls++ {
			select {
			case <-stop:
				return
			default:
			}
			good.Send(&call)
			if err := good.Wait(&call); err != nil {
				t.Errorf("call %d: %v", calls, err)
				return
			}
		}
	})
	conns, err := besiege(l.Addr().String(), crowd)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "refusals in the log", func() bool { return strings.Count(lines.String(), "client 127.0.0.1") >= crowd/8 })
	if more := int64(heapBytes() - before); more > crowd<<14 {
		t.Errorf("%d KiB of memory for each hostile connection", more/crowd>>10)
	}
	for _, conn := range conns {
		conn.Close()
	}
	eventually(t, "the end of their goroutines", func() bool { return runtime.NumGoroutine() <= goroutines+1 }) // the worker's
	close(stop)
	working.Wait()
	if counts := l.service.Counts()["node1"]; calls == 0 || counts.Puts != uint64(calls)+1 {
		t.Errorf("%d calls were answered, %d puts applied", calls+1, counts.Puts)
	}
}

// besiege opens connections that each do their worst.
func besiege(addr string, crowd int) ([]net.Conn, error) {
	var conns []net.Conn
	for i := range crowd {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return conns, err
		}
		hostile[i%len(hostile)].act(conn)
		conns = append(conns, conn)
	}
	return conns, nil
}

func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
