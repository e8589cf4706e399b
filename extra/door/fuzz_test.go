package door_test

import (
	"bytes"
	"io"
	"net"
	"slices"
	"testing"
	"testing/iotest"
	"time"

	"kvlab/extra/door"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
)

// script is a client that sends what in holds, and then leaves.
type script struct {
	net.Conn // none
	in       io.Reader
	out      bytes.Buffer
}

func (s *script) Read(b []byte) (int, error)       { return s.in.Read(b) }
func (s *script) Write(b []byte) (int, error)      { return s.out.Write(b) }
func (s *script) Close() error                     { return nil }
func (s *script) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

// replies are those of a new store to what a client sends.
func replies(in io.Reader) []byte {
	s := &script{in: in}
	_ = door.New(service.New(engine.NewMutex()), options()).Serve(s) // what ended it is no matter
	return s.out.Bytes()
}

// FuzzDoor: whatever a client sends has the same replies, however it is cut, as long as no
// command asks for the time or for the connection.
func FuzzDoor(f *testing.F) {
	for _, s := range session {
		f.Add(arrays(s.command))
	}
	f.Add(arrays("set k v", "hset h f v g w", "hset h f x", "hmget h f g", "hgetall h", "mget k h", "del k h", "hgetall h"))
	f.Fuzz(func(t *testing.T, text []byte) {
		lower := bytes.ToLower(text)
		if slices.ContainsFunc([]string{"time", "info", "hello", "client"}, func(word string) bool { return bytes.Contains(lower, []byte(word)) }) {
			return
		}
		whole := cutError(replies(bytes.NewReader(text)))
		for name, cut := range map[string]io.Reader{"bytes": iotest.OneByteReader(bytes.NewReader(text)), "halves": iotest.HalfReader(bytes.NewReader(text))} {
			if got := cutError(replies(cut)); !bytes.Equal(got, whole) {
				t.Fatalf("%q in %s: %q, want %q", text, name, got, whole)
			}
		}
	})
}

// cutError shortens the error of bytes that are no RESP, which quotes what has arrived.
func cutError(replies []byte) []byte {
	const protocol = "-ERR RESP protocol error"
	before, _, found := bytes.Cut(replies, []byte(protocol))
	if found {
		before = append(before, protocol...)
	}
	return before
}
