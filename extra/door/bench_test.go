package door_test

import (
	"fmt"
	"io"
	"net"
	"testing"

	"kvlab/kvs/engine"
	"kvlab/kvs/resp"
	"kvlab/kvs/service"
)

// load returns a pipeline of SETs and GETs, and the length of its replies.
func load(n int) (text []byte, size int) {
	for i := range n {
		key := fmt.Sprintf("key:%012d", i/2)
		if i%2 == 0 {
			text, size = resp.AppendCommand(text, "SET", key, "xxxxxxxxxxxxxxxx"), size+len("+OK\r\n")
		} else {
			text, size = resp.AppendCommand(text, "GET", key), size+len("$16\r\nxxxxxxxxxxxxxxxx\r\n")
		}
	}
	return text, size
}

func open(tb testing.TB, name string) *service.Service {
	e, err := engine.Open(name, engine.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return service.New(e)
}

func exchange(tb testing.TB, conn net.Conn, text, replies []byte) {
	if _, err := conn.Write(text); err != nil {
		tb.Fatal(err)
	}
	if _, err := io.ReadFull(conn, replies); err != nil {
		tb.Fatal(err)
	}
}

// A pipeline of commands allocates nothing for a command.
func TestAllocations(t *testing.T) {
	conn := dial(t, serve(t, open(t, "slab"), options()))
	text, size := load(100)
	replies := make([]byte, size)
	if n := testing.AllocsPerRun(100, func() { exchange(t, conn, text, replies) }); n > 5 {
		t.Errorf("%v allocations for %d commands", n, 100)
	}
}

// BenchmarkPipeline is a pipeline of SETs and GETs over loopback.
func BenchmarkPipeline(b *testing.B) {
	for _, depth := range []int{1, 16, 128} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			conn := dial(b, serve(b, open(b, "slab"), options()))
			text, size := load(2 * depth)
			replies := make([]byte, size)
			b.ReportAllocs()
			for b.Loop() {
				exchange(b, conn, text, replies)
			}
			b.ReportMetric(float64(2*depth)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
		})
	}
}
