package wire

import (
	"bytes"
	"errors"
	"net"
	"net/rpc"
	"runtime"
	"strings"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// A request over a limit is answered with an error that names the flag, and is
// its connection's last.
func TestLimits(t *testing.T) {
	each(t, func(t *testing.T, options Options) {
		for _, test := range []struct {
			limits Limits
			want   string
		}{
			{Limits{Frame: 1000}, "(-max-frame)"},
			{Limits{Batch: 99}, "a batch of 100 operations; at most 99 (-max-batch)"},
		} {
			strict := options
			strict.Limits = test.limits
			s := startServer(t, strict, engine.NewMutex())
			client := s.dial(t, options)
			var small, large kvs.Batch
			small.Get([]byte("key"))
			for range 100 {
				large.Append(kvs.Put, []byte("key"), make([]byte, 20))
			}
			if _, err := call(client, &small); err != nil {
				t.Fatal(err)
			}
			var answer rpc.ServerError
			if _, err := call(client, &large); !errors.As(err, &answer) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want the server's, with %q", err, test.want)
			}
			if err := s.end(t); !errors.Is(err, errLimit) {
				t.Errorf("Serve: %v, want errLimit", err)
			}
			if n := s.service.Counts()[options.Node]; n.Puts != 0 || n.Gets != 1 {
				t.Errorf("%+v were applied, want 1 get", n)
			}
		}
	})
}

// More operations than the limit, of a byte each, are refused, and none is applied.
func TestGobBomb(t *testing.T) {
	const ops = 2 << 16
	options := gobOptions
	options.Limits = DefaultLimits()
	options.Limits.Batch = ops - 1
	s := startServer(t, options, engine.NewMutex())
	bomb := gobMessage(t, struct{ Ops []struct{ Kind uint8 } }{make([]struct{ Kind uint8 }, ops)})
	for announced, want := range map[uint32]error{ops: errLimit, 1: kvs.ErrMalformed} {
		s.rawConn(t, gobOptions).Write(sealed(bomb, 1, announced, false))
		if err := s.end(t); !errors.Is(err, want) || !strings.Contains(err.Error(), "131072 operations") {
			t.Errorf("%d operations announced: %v, want %v and the number", announced, err, want)
		}
	}
	if n := s.service.Counts()[options.Node]; n.Calls != 0 {
		t.Errorf("%+v were applied, want nothing", n)
	}
}

// A header that announces the largest body takes little memory for it before it comes;
// a body that does come is read whole, in pieces of any size.
func TestAnnouncedBody(t *testing.T) {
	options := Options{Hello: Hello{Node: "node0", Codec: "binary", Features: Features{CRC: true}}}
	s := startServer(t, options, engine.NewMutex())
	client := s.dial(t, options)
	for _, values := range []int{1, 5, 2, 7, 7} { // megabytes
		var batch kvs.Batch
		for i := range values {
			value := bytes.Repeat([]byte{byte(i), byte(values), 3}, kvs.MaxValueLen/3)
			batch.Append(kvs.Put, []byte{'k', byte(i)}, value)
			batch.Get([]byte{'k', byte(i)})
		}
		reply, err := call(client, &batch)
		if err != nil {
			t.Fatal(err)
		}
		results := reply.Results()
		for i := range values {
			results.Next() // of the Put
			if got, err := results.Next(); err != nil || len(got.Value) < kvs.MaxValueLen/2 || got.Value[0] != byte(i) || got.Value[1] != byte(values) {
				t.Errorf("value %d of %d: %d bytes, %v", i, values, len(got.Value), err)
			}
		}
	}
	head := make([]byte, headerLen)
	header{kind: requestFrame, flags: checked, size: kvs.MaxBody, count: 1}.put(head)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		conn := s.rawConn(t, options)
		conn.Write(append(head, 0))
		conn.(*net.TCPConn).CloseWrite()
		if err := s.end(t); err == nil || !strings.Contains(err.Error(), "read a body of 67108864 bytes: unexpected EOF") {
			t.Errorf("Serve: %v", err)
		}
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 20<<20 {
		t.Errorf("%d MiB were allocated for ten headers", took>>20)
	}
}

// A client that stops in the midst of a request, or takes no reply, loses its
// connection; so does one that asks for nothing for too long.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, options Options) {
		t.Parallel()
		late, idle := Limits{Request: 50 * time.Millisecond}, Limits{Idle: 200 * time.Millisecond}
		whole := requestBytes(t, options)
		for _, test := range []struct {
			name   string
			limits Limits
			send   func(conn net.Conn)
			want   string
		}{
			{"a first byte", late, func(conn net.Conn) { conn.Write(whole[:1]) }, "-request-timeout"},
			{"half a request", late, func(conn net.Conn) { conn.Write(whole[:len(whole)-1]) }, "-request-timeout"},
			{"nothing", idle, func(net.Conn) {}, "-idle-timeout"},
			{"a request, then nothing", idle, func(conn net.Conn) { conn.Write(whole) }, "-idle-timeout"},
		} {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				options := options
				options.Limits = test.limits
				s := startServer(t, options, engine.NewMutex())
				conn := s.rawConn(t, options)
				test.send(conn)
				if err := s.end(t); !errors.Is(err, errLimit) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("Serve: %v, want errLimit and %s", err, test.want)
				}
				conn.Close()
			})
		}
		t.Run("replies not taken", func(t *testing.T) {
			t.Parallel()
			options := options
			patient, store := options, engine.NewMutex()
			patient.Limits = Limits{}
			var batch kvs.Batch
			batch.Append(kvs.Put, []byte("key"), make([]byte, kvs.MaxValueLen))
			if _, err := call(startServer(t, patient, store).dial(t, options), &batch); err != nil {
				t.Fatal(err)
			}
			options.Limits = late
			s := startServer(t, options, store)
			conn := s.rawConn(t, options)
			codec := newClientCodec(conn, options)
			batch.Reset()
			batch.Get([]byte("key"))
			for seq, err := uint64(0), error(nil); err == nil; seq++ { // each asks for a megabyte
				err = codec.WriteRequest(&rpc.Request{ServiceMethod: remoteMethod, Seq: seq}, &batch)
			}
			if err := s.end(t); !errors.Is(err, errLimit) {
				t.Errorf("Serve: %v, want errLimit", err)
			}
			conn.Close()
		})
	})
}

func newClientCodec(conn net.Conn, options Options) rpc.ClientCodec {
	return codecNamed(options.Codec).client(conn, options.Features)
}

// requestBytes returns what a client sends for a Get of "key".
func requestBytes(t *testing.T, options Options) []byte {
	t.Helper()
	near, far := net.Pipe()
	sent := make(chan []byte, 1)
	go func() {
		var heard bytes.Buffer
		heard.ReadFrom(far)
		sent <- heard.Bytes()
	}()
	codec := newClientCodec(near, options)
	var batch kvs.Batch
	batch.Get([]byte("key"))
	if err := codec.WriteRequest(&rpc.Request{ServiceMethod: remoteMethod, Seq: 1}, &batch); err != nil {
		t.Fatal(err)
	}
	codec.Close()
	return <-sent
}

// A connection with a turn between any two checks stays open, as does one without
// for less than the idle time.
func TestRequestTimer(t *testing.T) {
	const begins, nothing, whole = 1, 0, 2 // turns before a check
	tests := []struct {
		name  string
		turns []int
		want  string // what expires at the last check
	}{
		{"busy", []int{begins, whole, whole, whole, whole, whole, begins, begins, begins}, ""},
		{"rests", []int{whole, nothing, nothing, whole, nothing, nothing, begins, begins, nothing, nothing}, ""},
		{"in flight", []int{whole, begins, nothing}, "-request-timeout"},
		{"idle", []int{whole, nothing, nothing, nothing}, "-idle-timeout"},
		{"never used", []int{nothing, nothing, nothing}, "-idle-timeout"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			conn, far := net.Pipe()
			defer far.Close()
			g := WatchRequests(conn, Limits{Request: time.Hour, Idle: 3 * time.Hour})
			defer g.Stop()
			for i, turns := range test.turns {
				if err := g.Conn.reason.Load(); err != nil {
					t.Fatalf("check %d: %v", i, *err)
				}
				for range turns {
					g.Turn()
				}
				g.check()
			}
			if err := g.Conn.Cause(net.ErrClosed); (err != net.ErrClosed) != (test.want != "") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("expired: %v, want %q", err, test.want)
			}
		})
	}
}
