package wire

import (
	"errors"
	"io"
	"net"
	"slices"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
)

// counting counts the writes of a server.
type counting struct {
	net.Conn
	sizes []int
}

func (c *counting) Write(p []byte) (int, error) {
	c.sizes = append(c.sizes, len(p))
	return c.Conn.Write(p)
}

// serveCounting serves one connection, and returns the client's end of it after
// the handshake; done gives the sizes of the server's writes since, after the
// client has closed it.
func serveCounting(t *testing.T) (conn net.Conn, done func() []int) {
	t.Helper()
	conn, far := connected(t)
	server := &counting{Conn: far}
	ended := make(chan error, 1)
	go func() { ended <- serve(server, binaryOptions, service.New(engine.NewMutex())) }()
	if _, err := binaryOptions.greet(conn); err != nil {
		t.Fatal(err)
	}
	return conn, func() []int {
		t.Helper()
		conn.Close()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
		return server.sizes[2:] // without the handshake's
	}
}

// puts returns n requests in a row.
func puts(n int) []byte {
	var all []byte
	for seq := range n {
		var batch kvs.Batch
		batch.Append(kvs.Put, []byte("k"), []byte("v"))
		all = append(all, request(&batch, uint64(seq))...)
	}
	return all
}

// stored returns the size of the reply to one Put.
func stored() int {
	var reply kvs.Reply
	reply.Reset()
	reply.Stored()
	return len(reply.Frame())
}

func readReplies(t *testing.T, conn net.Conn, first, n int) {
	t.Helper()
	for seq := first; seq < first+n; seq++ {
		frame := make([]byte, stored())
		if _, err := io.ReadFull(conn, frame); err != nil {
			t.Fatal(err)
		}
		if h, err := parseHeader(frame, replyFrame); err != nil || h.seq != uint64(seq) {
			t.Fatalf("reply %d: header %+v, %v", seq, h, err)
		}
	}
}

// The replies to requests that came together go out in one write, in order; the
// reply to one that came alone, or with a part of the next, does not wait.
func TestServerCombinesReplies(t *testing.T) {
	conn, done := serveCounting(t)
	for _, part := range []struct{ send, replies int }{{1, 1}, {100, 100}, {1, 1}} {
		if _, err := conn.Write(puts(part.send)); err != nil {
			t.Fatal(err)
		}
		readReplies(t, conn, 0, part.replies)
	}
	two := puts(2)
	for _, cut := range []int{len(two)/2 + 1, len(two)/2 + headerLen, len(two) - 1} {
		for i, part := range [][]byte{two[:cut], two[cut:]} {
			if _, err := conn.Write(part); err != nil {
				t.Fatal(err)
			}
			readReplies(t, conn, i, 1)
		}
	}
	one := stored()
	if got, want := done(), []int{one, 100 * one, one, one, one, one, one, one, one}; !slices.Equal(got, want) {
		t.Errorf("writes of %d bytes, want %d", got, want)
	}
}

// Replies that waited for the answer to a frame that is none are not lost.
func TestServerSendsRepliesBeforeBadFrame(t *testing.T) {
	s := startServer(t, binaryOptions, engine.NewMutex())
	conn := s.rawConn(t, binaryOptions)
	if _, err := conn.Write(append(puts(3), make([]byte, headerLen)...)); err != nil {
		t.Fatal(err)
	}
	readReplies(t, conn, 0, 3)
	checkClosed(t, conn)
	if err := s.end(t); !errors.Is(err, errFrame) {
		t.Errorf("Serve: error %v, want one that wraps errFrame", err)
	}
}
