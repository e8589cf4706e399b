package server

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/engine"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == storeWord {
		fmt.Fprintln(os.Stderr, runStore(os.Args[2], os.Args[3], os.Args[4], strings.Join(os.Args[6:], "")))
		os.Exit(1)
	}
	if len(os.Args) > 1 && os.Args[1] == hostWord {
		os.Exit(Program([]driver.Row{storeRow}).Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
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
