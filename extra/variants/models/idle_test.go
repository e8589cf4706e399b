package models

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/server"
	"kvlab/kvs/server/modeltest"
	"kvlab/kvs/wire"
)

// idleVariable makes the test binary a server with its arguments. It answers every line on
// standard input with its resident memory in bytes, without garbage.
const idleVariable = "KVLAB_TEST_IDLE"

func serveIdle(args []string) int {
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			debug.FreeOSMemory()
			resident, err := residentBytes()
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println("resident", resident)
		}
		os.Exit(0)
	}()
	return server.Program(nil).Main(args, strings.NewReader(""), os.Stdout, os.Stderr)
}

// residentBytes returns VmRSS of proc_pid_status(5).
func residentBytes() (int, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	return kib << 10, err
}

// BenchmarkIdleConnections is the resident memory of a server for each connection of
// 10,000, with -short of 1000, that have made a call and make no other. The kernel's is not
// in it. With KVLAB_LONG=1 more than 2 KiB of a parked one is an error.
//
//	go test -run '^$' -bench IdleConnections -benchtime 1x ./extra/variants/models
func BenchmarkIdleConnections(b *testing.B) {
	conns := 10_000
	if testing.Short() {
		conns = 1000
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		b.Fatal(err)
	}
	if limit.Cur < uint64(conns)+100 {
		b.Skipf("ulimit -n is %d, and this needs %d", limit.Cur, conns+100)
	}
	for _, model := range []string{"conn", "parked"} {
		b.Run(model, func(b *testing.B) {
			for range b.N {
				each := idleBytes(b, model, conns) / conns
				b.ReportMetric(float64(each), "B/conn")
				if model == "parked" && each > 2<<10 && os.Getenv("KVLAB_LONG") == "1" {
					b.Errorf("%d bytes for each connection, want at most 2 KiB", each)
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// idleBytes returns how much resident memory connections add to a server.
func idleBytes(b *testing.B, model string, conns int) int {
	server := exec.Command(os.Args[0], "-model", model, "-engine", "mutex", "-port", "0", "-max-connections", "1048576")
	server.Env = append(os.Environ(), idleVariable+"=1")
	server.Stderr = os.Stderr
	stdin, err := server.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	defer server.Wait()
	defer stdin.Close()
	lines := bufio.NewScanner(stdout)
	next := func(form string) string {
		for want := regexp.MustCompile(form); lines.Scan(); {
			if found := want.FindStringSubmatch(lines.Text()); found != nil {
				return found[1]
			}
		}
		b.Fatalf("the server has left: %v", lines.Err())
		return ""
	}
	addr := next(`Starting KVS server on (\S+)`)
	resident := func() int {
		fmt.Fprintln(stdin)
		bytes, err := strconv.Atoi(next(`^resident (\d+)`))
		if err != nil {
			b.Fatal(err)
		}
		return bytes
	}
	var clients []*wire.Client
	defer func() {
		for _, c := range clients {
			c.Close()
		}
	}()
	connect := func() {
		o := modeltest.Options()
		o.Node = "node1"
		c, _, err := wire.Dial(context.Background(), addr, o)
		if err != nil {
			b.Fatal(err)
		}
		clients = append(clients, c)
		var batch kvs.Batch
		batch.Get([]byte("key"))
		call := kvs.Call{Batch: &batch, Reply: new(kvs.Reply)}
		c.Send(&call)
		if err := c.Wait(&call); err != nil {
			b.Fatal(err)
		}
	}
	connect()
	before := resident()
	for range conns {
		connect()
	}
	return resident() - before
}
