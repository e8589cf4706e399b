package wire

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
)

// servingVariable makes the test binary a server of the codec that it names.
const servingVariable = "KVLAB_TEST_SERVING"

// TestServing is that server, which says after each connection the most that
// its heap has had meanwhile. It collects its garbage soon: how much
// there is of that is bounded for the whole process, not for each connection.
func TestServing(t *testing.T) {
	codec := os.Getenv(servingVariable)
	if codec == "" {
		t.Skip("only as a process that another test starts")
	}
	debug.SetGCPercent(5)
	store, err := engine.Open("slab", engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	service := service.New(store)
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var peak peakHeap
	go peak.watch()
	for fmt.Println("serving", socket.Addr(), heapBytes()); ; fmt.Println("served", peak.bytes.Swap(0)) {
		conn, err := socket.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_ = serve(conn, Options{Hello: Hello{Node: "server", Codec: codec}, Limits: DefaultLimits()}, service)
		peak.look()
	}
}

// peakHeap is the most that a process's heap has had, of objects and of garbage.
type peakHeap struct{ bytes atomic.Uint64 }

// watch looks as often as it can: what is being copied is there for longer.
func (p *peakHeap) watch() {
	for range time.Tick(time.Millisecond) {
		p.look()
	}
}

func (p *peakHeap) look() {
	now := heapBytes()
	for was := p.bytes.Load(); now > was && !p.bytes.CompareAndSwap(was, now); was = p.bytes.Load() {
	}
}

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// No connection costs the server more than two of the largest frames and 64 MiB,
// whatever comes on it: the largest frames that are no batch, or are one that wants the
// most. Of gob it is eight of the largest
// messages: a batch and a reply exist as a message, as structs and encoded.
func TestMemoryOfABadConnection(t *testing.T) {
	t.Parallel()
	// Without one collection a frame each way would leave 30 MiB more than its bound.
	const uncollected = 48 << 20
	allowed := map[string]int64{"binary": 2*kvs.MaxBody + 64<<20 + uncollected, "gob": 8*kvs.MaxBody + uncollected}
	for _, test := range []struct {
		name, codec string
		text        []byte
	}{
		{"zeros", "binary", sealed(make([]byte, kvs.MaxBody), 1, 1<<20, false)},
		{"a frame but for its last byte", "binary", sealed(make([]byte, kvs.MaxBody), 1, 1, false)[:kvs.MaxBody]},
		{"the same value 4000 times", "binary", greedy(1, 4000)},
		{"the largest frames both ways", "binary", greedy(62, 63)},
		{"the same value 4000 times", "gob", greedyGob(t, 1, 4000)},
		{"the largest frames both ways", "gob", greedyGob(t, 62, 62)},
		{"the most operations", "gob", greedyGob(t, 0, 1<<20)},
	} {
		t.Run(test.codec+" "+test.name, func(t *testing.T) {
			lines, addr, before := serveApart(t, test.codec)
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := (Options{Hello: Hello{Node: "bad", Codec: test.codec}}).greet(conn); err != nil {
				t.Fatal(err)
			}
			go func() {
				conn.Write(test.text)
				conn.(*net.TCPConn).CloseWrite()
			}()
			drain(t, conn)
			var most int64
			if _, err := fmt.Sscanf(next(t, lines), "served %d", &most); err != nil {
				t.Fatal(err)
			}
			t.Logf("%.1f MiB more", float64(most-before)/(1<<20))
			if allowed := allowed[test.codec]; most-before > allowed {
				t.Errorf("%d MiB for a bad connection; at most %d", (most-before)>>20, allowed>>20)
			}
		})
	}
}

// greedy returns a batch that stores the largest value puts times under one key, and then
// reads the key gets times.
func greedy(puts, gets int) []byte {
	var batch kvs.Batch
	value := make([]byte, kvs.MaxValueLen)
	for range puts {
		batch.Append(kvs.Put, []byte("key"), value)
	}
	for range gets {
		batch.Get([]byte("key"))
	}
	return sealed(batch.Frame()[headerLen:], 1, uint32(batch.Len()), false)
}

func greedyGob(t *testing.T, puts, gets int) []byte {
	t.Helper()
	batch := gobBatch{Ops: make([]gobOp, puts+gets)}
	value := strings.Repeat("v", kvs.MaxValueLen)
	for i := range batch.Ops {
		batch.Ops[i].Key = "key"
		if i < puts {
			batch.Ops[i].Kind, batch.Ops[i].Value = uint8(kvs.Put), value
		}
	}
	return sealed(gobMessage(t, batch), 1, uint32(puts+gets), false)
}

// serveApart starts a server in a separate process. It returns its lines, its
// address, and what its heap has had so far.
func serveApart(t *testing.T, codec string) (lines *bufio.Reader, addr string, heap int64) {
	t.Helper()
	server := exec.Command(os.Args[0], "-test.run=^TestServing$")
	// With two processors the collector spins until a goroutine has copied 64 MiB.
	server.Env = append(os.Environ(), servingVariable+"="+codec, "GOMAXPROCS=1")
	out, err := server.StdoutPipe()
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
	lines = bufio.NewReader(out)
	if _, err := fmt.Sscanf(next(t, lines), "serving %s %d", &addr, &heap); err != nil {
		t.Fatal(err)
	}
	return lines, addr, heap
}

func next(t *testing.T, lines *bufio.Reader) string {
	t.Helper()
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("the server ends: %v", err)
	}
	return line
}

// drain reads all that the server says.
func drain(t *testing.T, conn net.Conn) {
	t.Helper()
	conn.SetDeadline(time.Now().Add(patience))
	buf := make([]byte, 1<<20)
	for {
		if _, err := conn.Read(buf); isTimeout(err) {
			t.Fatal("the connection stays open")
		} else if err != nil {
			break
		}
	}
	conn.Close()
}
