package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	"kvlab/kvs"
)

// gated is a connection whose writes a test lets through one by one.
type gated struct {
	net.Conn
	begun chan []byte // what a write was given
	end   chan error  // ends it
}

func newGated(t *testing.T) (*gated, *groupWriter) {
	near, far := net.Pipe()
	g := &gated{Conn: near, begun: make(chan []byte), end: make(chan error)}
	c := newGroupWriter(newContextConn(context.Background(), g))
	t.Cleanup(func() {
		c.Close()
		far.Close()
	})
	return g, c
}

func (g *gated) Write(p []byte) (int, error) {
	g.begun <- p
	return len(p), <-g.end
}

func write(t *testing.T, c *groupWriter, p []byte) {
	t.Helper()
	if n, err := c.Write(p); n != len(p) || err != nil {
		t.Fatalf("wrote %d of %d bytes: %v", n, len(p), err)
	}
}

// What is written while a write is under way goes out in one, in order.
func TestCombinerCombines(t *testing.T) {
	g, c := newGated(t)
	write(t, c, []byte("first"))
	if got := <-g.begun; string(got) != "first" {
		t.Errorf("the first write is %q", got)
	}
	want := ""
	for i := range 1000 {
		word := fmt.Sprintf("%d ", i)
		write(t, c, []byte(word))
		want += word
	}
	g.end <- nil
	if got := <-g.begun; string(got) != want {
		t.Errorf("the second write is %q, want all that was written in between", got)
	}
	g.end <- nil
	write(t, c, []byte("last"))
	if got := <-g.begun; string(got) != "last" {
		t.Errorf("the last write is %q: a buffer was not emptied", got)
	}
	g.end <- nil
}

// What is too large to wait is written in its place, behind what waits, and is
// not copied.
func TestCombinerWritesThrough(t *testing.T) {
	g, c := newGated(t)
	write(t, c, []byte("under way"))
	<-g.begun
	write(t, c, []byte("waits"))
	large := make([]byte, MaxGroup+1) // does not fit, whatever waits
	done := make(chan error, 1)
	go func() {
		_, err := c.Write(large)
		done <- err
	}()
	g.end <- nil
	if got := <-g.begun; string(got) != "waits" {
		t.Errorf("wrote %d bytes before those that waited", len(got))
	}
	g.end <- nil
	if got := <-g.begun; len(got) != len(large) || &got[0] != &large[0] {
		t.Errorf("%d bytes, or a copy, in place of the large write", len(got))
	}
	select {
	case err := <-done:
		t.Fatalf("the large write returned (%v) before its bytes were written", err)
	default:
	}
	g.end <- nil
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A write that fails behind its caller's back closes the connection, and Read
// and every later Write return the reason.
func TestCombinerFails(t *testing.T) {
	g, c := newGated(t)
	reason := errors.New("no route")
	write(t, c, []byte("lost"))
	<-g.begun
	g.end <- reason
	if _, err := c.Read(make([]byte, 1)); err != reason {
		t.Errorf("Read: error %v, want %v", err, reason)
	}
	for _, size := range []int{1, 2 * MaxGroup} {
		if _, err := c.Write(make([]byte, size)); err != reason {
			t.Errorf("write of %d bytes: error %v, want %v", size, err, reason)
		}
	}
}

var sharedOptions = Options{Hello: Hello{Node: "node0", Codec: "binary"}, Token: "secret", Shared: true}

// When a shared connection ends, every call in flight fails, and those to come.
func TestSharedConnectionEnds(t *testing.T) {
	client := impostor(t, sharedOptions, true, func(uint64) []byte { return nil })
	calls := make([]kvs.Call, 64)
	var group sync.WaitGroup
	for i := range calls {
		calls[i] = kvs.Call{Batch: new(kvs.Batch), Reply: new(kvs.Reply)}
		calls[i].Batch.Get([]byte("k"))
		group.Go(func() {
			client.Send(&calls[i])
			if err := client.Wait(&calls[i]); err == nil {
				t.Errorf("call %d did not fail", i)
			}
		})
	}
	within(t, "a call over a connection that ended", func() error { group.Wait(); return nil })
}
