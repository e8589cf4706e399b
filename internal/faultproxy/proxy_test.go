package faultproxy

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"kvlab/internal/wiretest"
)

// arrives returns the slow right engine: what of sent comes through a fault.
func arrives(sent []byte, f Fault) []byte {
	at := int(min(f.At, int64(len(sent))))
	switch f.Kind {
	case Cut, Truncate, BlackHole:
		return sent[:at]
	case Flip:
		out := bytes.Clone(sent)
		out[at] ^= 1 << f.Bit
		return out
	case Duplicate:
		end := min(at+f.Len, len(sent))
		return bytes.Join([][]byte{sent[:end], sent[at:end], sent[end:]}, nil)
	}
	return sent
}

// peer is the server behind a proxy: it says something to the first who
// connects, and keeps what it hears until the connection ends.
type peer struct {
	addr  string
	heard []byte
	err   error
	done  chan struct{}
}

func startPeer(t *testing.T, says []byte) *peer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	p := &peer{addr: listener.Addr().String(), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		conn, err := listener.Accept()
		if err != nil {
			p.err = err
			return
		}
		defer conn.Close()
		p.heard, p.err = talk(conn, says)
	}()
	return p
}

// talk says something in uneven pieces and listens at the same time.
func talk(conn net.Conn, says []byte) (heard []byte, err error) {
	var speaking sync.WaitGroup
	var refused error // a reset is reported once, to the first call
	speaking.Go(func() {
		for piece := 1; len(says) > 0; piece = piece*3%4093 + 1 {
			n := min(piece, len(says))
			if _, refused = conn.Write(says[:n]); refused != nil {
				return
			}
			says = says[n:]
		}
		conn.(*net.TCPConn).CloseWrite()
	})
	heard, err = io.ReadAll(conn)
	speaking.Wait()
	if errors.Is(refused, syscall.ECONNRESET) {
		err = refused
	}
	return heard, err
}

func dial(t *testing.T, proxy *Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	return conn
}

// What arrives is what the model says, in both directions, for faults of every
// kind at random bytes.
func TestFaults(t *testing.T) {
	seed := uint64(20261122)
	if os.Getenv("KVLAB_LONG") == "1" {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	text := func() []byte {
		b := make([]byte, 1+rng.IntN(100_000))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	for i := range 20 * int(kinds) {
		f := Fault{
			Kind: Kind(i % int(kinds)), Way: Way(rng.IntN(int(ways))), Bit: uint8(rng.IntN(8)), Len: 1 + rng.IntN(20_000),
			Delay: time.Millisecond, Jitter: time.Millisecond, Rate: 2_000_000,
		}
		said := [ways][]byte{text(), text()}
		f.At = rng.Int64N(int64(len(said[f.Way])))
		t.Run(f.String(), func(t *testing.T) { testFault(t, f, said) })
	}
}

func testFault(t *testing.T, f Fault, said [ways][]byte) {
	server := startPeer(t, said[ToClient])
	proxy := Start(t, server.addr, func(int) []Fault { return []Fault{f} })
	conn, err := net.Dial("tcp", proxy.Addr())
	if f.Kind == Cut && errors.Is(err, syscall.ECONNRESET) {
		return // the server spoke, and the proxy cut, before Dial was done
	} else if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	defer conn.Close()
	if f.Kind == BlackHole {
		testBlackHole(t, f, said, conn, server)
		return
	}
	heard, err := talk(conn, said[ToServer])
	conn.Close()
	<-server.done
	ears := [ways][]byte{ToServer: server.heard, ToClient: heard}
	errs := [ways]error{ToServer: server.err, ToClient: err}
	for way, got := range ears {
		want := said[way]
		if Way(way) == f.Way {
			want = arrives(want, f)
		}
		switch broken := errs[way]; {
		case f.Kind == Cut && errors.Is(broken, syscall.ECONNRESET):
			// A reset overtakes bytes that are still in the buffers.
			if !bytes.HasPrefix(want, got) {
				t.Errorf("%v: %d bytes are no beginning of what should arrive", Way(way), len(got))
			}
		case f.Kind == Cut && Way(way) != f.Way && broken == nil && len(got) == len(want):
			// That way was over before.
		case f.Kind == Cut:
			t.Errorf("%v: %v, want a reset", Way(way), broken)
		case f.Kind == Truncate && Way(way) != f.Way:
			if !bytes.HasPrefix(want, got) || broken != nil {
				t.Errorf("%v: %d bytes, %v", Way(way), len(got), broken)
			}
		case !bytes.Equal(got, want) || broken != nil:
			t.Errorf("%v: %d bytes, %v; want %d", Way(way), len(got), broken, len(want))
		}
	}
	if struck := proxy.Struck(); len(struck) != 1 || struck[0] != f {
		t.Errorf("struck %v, want %v", struck, f)
	}
}

// testBlackHole: the end of the way is never heard of, while the other way works.
func testBlackHole(t *testing.T, f Fault, said [ways][]byte, conn net.Conn, server *peer) {
	go func() {
		for text := said[ToServer]; len(text) > 0; text = text[min(len(text), 1000):] {
			conn.Write(text[:min(len(text), 1000)])
		}
	}()
	if f.Way == ToServer {
		heard, err := io.ReadAll(conn)
		if err != nil || !bytes.Equal(heard, said[ToClient]) {
			t.Errorf("the other way: %d bytes, %v; want %d", len(heard), err, len(said[ToClient]))
		}
		return
	}
	heard := make([]byte, f.At)
	if _, err := io.ReadFull(conn, heard); err != nil || !bytes.Equal(heard, said[ToClient][:f.At]) {
		t.Errorf("before the hole: %v, or other bytes", err)
	}
	conn.SetDeadline(time.Now().Add(5 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 1)); n > 0 || !errors.Is(err, syscall.ETIMEDOUT) && !isTimeout(err) {
		t.Errorf("in the hole: %d bytes, %v; want a deadline", n, err)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// A delayed byte is not early, and neither is the last byte of a throttled way.
func TestDelays(t *testing.T) {
	const size = 50_000
	tests := []struct {
		fault Fault
		least time.Duration
	}{
		{Fault{Kind: Delay, Delay: 100 * time.Millisecond, Jitter: 50 * time.Millisecond}, 100 * time.Millisecond},
		{Fault{Kind: Delay, Way: ToClient, At: size - 1, Delay: 100 * time.Millisecond}, 100 * time.Millisecond},
		{Fault{Kind: Throttle, Rate: 500_000}, 100 * time.Millisecond},
		{Fault{Kind: Throttle, Way: ToClient, At: size / 2, Rate: 250_000}, 100 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.fault.String(), func(t *testing.T) {
			t.Parallel()
			text := bytes.Repeat([]byte{7}, size)
			server := startPeer(t, text)
			proxy := Start(t, server.addr, func(int) []Fault { return []Fault{test.fault} })
			begun := time.Now() // before the dial: the peer speaks as soon as it is called
			conn := dial(t, proxy)
			heard, err := talk(conn, text)
			<-server.done
			if took := time.Since(begun); took < test.least || len(heard) != size || len(server.heard) != size || err != nil {
				t.Errorf("%d and %d bytes after %v, %v; want %d after %v at least", len(heard), len(server.heard), took, err, size, test.least)
			}
		})
	}
}

// Each connection has its own faults, and one without any is left alone.
func TestPlanByConnection(t *testing.T) {
	listener := wiretest.Start(t, func(conn net.Conn) { conn.Write([]byte("hello")) })
	proxy := Start(t, listener.Addr().String(), func(conn int) []Fault {
		if conn == 0 {
			return []Fault{{Kind: Flip, Way: ToClient, Bit: 5}, {Kind: Flip, Way: ToClient, At: 4, Bit: 5}}
		}
		return nil
	})
	for _, want := range []string{"HellO", "hello"} {
		if heard, err := io.ReadAll(dial(t, proxy)); string(heard) != want || err != nil {
			t.Errorf("heard %q, %v; want %q", heard, err, want)
		}
	}
}

// A server that is not there looks like one that closes.
func TestNoServer(t *testing.T) {
	proxy := Start(t, "127.0.0.1:1", func(int) []Fault { return nil })
	if heard, err := talk(dial(t, proxy), nil); len(heard) > 0 || err != nil {
		t.Errorf("heard %q, %v", heard, err)
	}
}
