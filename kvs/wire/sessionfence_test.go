package wire

import (
	"bytes"
	"errors"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/service"
)

// runs reports whether a goroutine has one of the functions on its stack.
func runs(functions ...string) bool {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return slices.ContainsFunc(functions, func(f string) bool { return bytes.Contains(stacks, []byte(f)) })
}

// The old connection's requests are not applied once a new one has been welcomed,
// even when they were on their way before.
func TestSessionIsFenced(t *testing.T) {
	b := newBlocker()
	s := startServer(t, binaryOptions, b)
	options := sessionOptions(0, 2)
	var put kvs.Batch
	put.Append(kvs.Put, []byte("key"), []byte("old"))
	frame := func(number uint64) []byte {
		f := append([]byte(nil), put.Frame()...)
		header{kind: requestFrame, seq: number, count: 1, size: uint32(put.Size())}.put(f)
		return f
	}
	options.Session.Connection = 1
	old := s.rawConn(t, options)
	for number := range uint64(2) {
		if _, err := old.Write(frame(number)); err != nil {
			t.Fatal(err)
		}
	}
	<-b.entered // call 0 is being applied, call 1 is behind it
	options.Session.Connection, options.Session.Unanswered = 2, 2
	welcomed := make(chan net.Conn)
	go func() {
		conn, err := net.Dial("tcp", s.addr)
		if err == nil {
			_, err = options.greet(conn)
		}
		if err != nil {
			t.Error(err)
		}
		welcomed <- conn
	}()
	poll(t, "the old connection is not ended", func() bool {
		old.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := old.Read(make([]byte, 1))
		return !isTimeout(err)
	})
	select {
	case <-welcomed:
		t.Fatal("the new connection is welcomed while the old one's call is being applied")
	default:
	}
	b.leave <- struct{}{}
	conn := <-welcomed
	defer conn.Close()
	select {
	case <-b.entered:
		t.Fatal("a call of the old connection is applied behind the new one's welcome")
	default:
	}
	if err := s.end(t); !errors.Is(err, service.ErrSuperseded) {
		t.Errorf("the old connection ends with %v", err)
	}
	in := newBinaryConn(conn, false)
	for number := range uint64(2) {
		if _, err := conn.Write(frame(number)); err != nil {
			t.Fatal(err)
		}
		if number == 1 {
			<-b.entered // call 0 is answered from the cache
			b.leave <- struct{}{}
		}
		if err := in.readHeader(replyFrame); err != nil || in.next.seq != number {
			t.Fatalf("reply %d: %v", in.next.seq, err)
		}
		if err := in.skipBody(); err != nil {
			t.Fatal(err)
		}
	}
	if calls := s.service.Counts()[binaryOptions.Node].Calls; calls != 2 {
		t.Errorf("%d calls applied, want 2", calls)
	}
}

// More calls in flight than the server remembers answers to are refused before
// they are sent; the session goes on.
func TestSessionWindow(t *testing.T) {
	b := newBlocker()
	s := startServer(t, binaryOptions, b)
	client := dial(t, s.addr, sessionOptions(0, 1))
	first, second := counter{key: []byte("a")}, counter{key: []byte("b")}
	first.send(client)
	<-b.entered
	second.send(client)
	if err := second.wait(client); !errors.Is(err, ErrUnsent) || !strings.Contains(err.Error(), "beside 1 pending") {
		t.Errorf("a second call: %v", err)
	}
	b.leave <- struct{}{}
	if err := first.wait(client); err != nil {
		t.Error(err)
	}
}

// No bit that is flipped in a handshake's message changes what it says: a session
// that is taken for another one, or for a new one, would apply calls twice.
func TestMessageFlips(t *testing.T) {
	options := sessionOptions(3, 2)
	options.Session.Unanswered = 2
	whole, err := seal(message{Protocol: protocol, Values: kvs.ValueFormat, Nonce: newNonce(), Hello: options.Hello})
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * (len(whole) - 2) {
		flipped := bytes.Clone(whole[2:])
		flipped[bit/8] ^= 1 << (bit % 8)
		h, err := open(flipped)
		if err == nil {
			t.Errorf("bit %d of %s is flipped: taken for %+v", bit, whole[2:], h)
		}
	}
}
