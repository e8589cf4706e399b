package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/metrics"
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

// The calls of each of many goroutines over one connection take effect in their
// order, small and large ones mixed, and all of them are counted.
func TestSharedClientKeepsOrder(t *testing.T) {
	for _, codec := range Codecs {
		t.Run(codec, func(t *testing.T) {
			options := sharedOptions
			options.Codec = codec
			s := startServer(t, options, engine.NewMutex())
			client := s.dial(t, options)
			const goroutines, each, ahead = 32, 60, 3
			var group sync.WaitGroup
			for g := range goroutines {
				group.Go(func() {
					if err := exchangeInOrder(client, fmt.Appendf(nil, "key%d", g), each, ahead); err != nil {
						t.Errorf("goroutine %d: %v", g, err)
					}
				})
			}
			group.Wait()
			want := metrics.Counts{ReadModifyWrites: goroutines * each, Hits: goroutines * (each - 1), Misses: goroutines, Calls: goroutines * each}
			if got := s.service.Counts()["node0"]; got != want {
				t.Errorf("counts %+v, want %+v", got, want)
			}
		})
	}
}

// exchangeInOrder stores values 0, 1, 2, ... of one key, ahead of them at a
// time, every seventh a large one, and checks that each call reads the one before.
func exchangeInOrder(client *Client, key []byte, n, ahead int) error {
	value := func(i int) []byte {
		v := fmt.Appendf(nil, "%d", i)
		if i%7 == 0 {
			v = append(v, make([]byte, 2*MaxGroup)...)
		}
		return v
	}
	calls := make([]kvs.Call, n)
	for i := 0; i < n+ahead; i++ {
		if i < n {
			calls[i] = kvs.Call{Batch: new(kvs.Batch), Reply: new(kvs.Reply)}
			calls[i].Batch.Append(kvs.ReadModifyWrite, key, value(i))
			client.Send(&calls[i])
		}
		j := i - ahead
		if j < 0 {
			continue
		}
		if err := client.Wait(&calls[j]); err != nil {
			return fmt.Errorf("call %d: %w", j, err)
		}
		results := calls[j].Reply.Results()
		result, err := results.Next()
		if err != nil {
			return fmt.Errorf("call %d: %w", j, err)
		}
		if result.Found != (j > 0) || j > 0 && !bytes.Equal(result.Value, value(j-1)) {
			return fmt.Errorf("call %d did not read what the call before it stored", j)
		}
		calls[j].Reply.Free()
	}
	return nil
}

// When a shared connection ends, every call under way fails, and those to come.
func TestSharedConnectionEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, err := sharedOptions.admit(conn, nil); err != nil {
			t.Error(err)
		}
		io.ReadFull(conn, make([]byte, headerLen+1)) // a request is under way
	}()
	client, _, err := Dial(context.Background(), listener.Addr().String(), sharedOptions)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
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
	if err := within(t, "a call over a connection that ended", func() error { group.Wait(); return nil }); err != nil {
		t.Fatal(err)
	}
}
