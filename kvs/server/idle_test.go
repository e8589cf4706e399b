package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

// idleVariable makes the test binary a server of the model that it names. It answers
// every line on standard input with its resident memory in bytes, without garbage.
const idleVariable = "KVLAB_TEST_IDLE"

func serveIdle(text string, in io.Reader, out io.Writer) error {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	model, err := OpenModel(text)
	if err != nil {
		return err
	}
	c := serving()
	c.Limits, c.MaxConnections = wire.DefaultLimits(), 1<<20
	l := &listener{Listener: model.Listener(socket), config: c, service: service.New(engine.NewMutex()), model: model, conns: map[net.Conn]bool{}}
	l.logf = func(text string, args ...any) { fmt.Fprintf(os.Stderr, text+"\n", args...) }
	go l.run(context.Background())
	fmt.Fprintln(out, l.Addr())
	for lines := bufio.NewScanner(in); lines.Scan(); {
		debug.FreeOSMemory()
		resident, err := residentBytes()
		if err != nil {
			return err
		}
		fmt.Fprintln(out, resident)
	}
	return nil
}

// residentBytes is VmRSS of proc_pid_status(5).
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
//	go test -run '^$' -bench IdleConnections -benchtime 1x ./kvs/server
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

// idleBytes is how much resident memory connections add to a server.
func idleBytes(b *testing.B, model string, conns int) int {
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), idleVariable+"="+model)
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
	next := func() string {
		if !lines.Scan() {
			b.Fatalf("the server has left: %v", lines.Err())
		}
		return lines.Text()
	}
	addr := next()
	resident := func() int {
		fmt.Fprintln(stdin)
		bytes, err := strconv.Atoi(next())
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
		o := serving().Options
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
