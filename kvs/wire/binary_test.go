package wire

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/metrics"
)

var binaryOptions = Options{Hello: Hello{Node: "node0", Codec: "binary"}, Token: "secret"}

// request returns a whole frame with the given batch.
func request(batch *kvs.Batch, seq uint64) []byte {
	frame := batch.Frame()
	header{kind: requestFrame, seq: seq, count: uint32(batch.Len()), size: uint32(len(frame) - headerLen)}.put(frame)
	return frame
}

// What is no frame ends its connection with an error that says so; the server
// goes on for the others.
func TestServerMeetsBadFrames(t *testing.T) {
	s := startServer(t, binaryOptions, engine.NewMutex())
	other := s.dial(t, binaryOptions)
	var batch kvs.Batch
	batch.Append(kvs.Put, []byte("key"), []byte("value"))
	for _, bad := range badHeaders {
		t.Run(bad.name, func(t *testing.T) {
			conn := s.rawConn(t, binaryOptions)
			if _, err := conn.Write(append(request(&batch, 1), bad.frame...)); err != nil {
				t.Fatal(err)
			}
			if err := s.end(t); !errors.Is(err, errFrame) || !strings.Contains(err.Error(), "node0") {
				t.Errorf("Serve: error %v, want one that wraps errFrame and names the client", err)
			}
			checkClosed(t, conn)
		})
	}
	if _, err := call(other, &batch); err != nil {
		t.Errorf("the other connection: %v", err)
	}
	if got, want := s.service.Counts()["node0"].Puts, uint64(len(badHeaders)+1); got != want {
		t.Errorf("%d puts, want %d: the good frame before each bad one counts", got, want)
	}
}

// A connection that breaks off within a frame is an error, whichever byte was
// the last.
func TestServerMeetsBrokenFrames(t *testing.T) {
	s := startServer(t, binaryOptions, engine.NewMutex())
	var batch kvs.Batch
	batch.Append(kvs.Put, []byte("key"), []byte("value"))
	frame := request(&batch, 1)
	for cut := 1; cut < len(frame); cut += 5 {
		conn := s.rawConn(t, binaryOptions)
		if _, err := conn.Write(frame[:cut]); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		if err := s.end(t); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut to %d of %d bytes: Serve: error %v, want an unexpected end", cut, len(frame), err)
		}
	}
	if counts := s.service.Counts()["node0"]; counts != (metrics.Counts{}) {
		t.Errorf("%+v, want nothing applied", counts)
	}
}

// impostor shakes hands with clients, reads a first request, and answers it with whatever
// reply makes of the call's number. Then it closes, or waits until the client does.
func impostor(t *testing.T, options Options, closes bool, reply func(seq uint64) []byte) *Client {
	t.Helper()
	s := wiretest.Start(t, func(conn net.Conn) {
		if _, err := options.admit(conn, nil); err != nil {
			t.Error(err)
			return
		}
		in := newBinaryConn(conn, false)
		if err := in.readHeader(requestFrame); err != nil {
			t.Error(err)
			return
		}
		if err := in.skipBody(); err != nil {
			t.Error(err)
		}
		conn.Write(reply(in.next.seq))
		if !closes {
			io.Copy(io.Discard, conn)
		}
	})
	return dial(t, s.Addr().String(), options)
}

// frameOf returns a whole frame with a body.
func frameOf(kind frameType, seq uint64, count int, body string) []byte {
	frame := append(make([]byte, headerLen), body...)
	header{kind: kind, seq: seq, count: uint32(count), size: uint32(len(body))}.put(frame)
	return frame
}

func TestClientMeetsBadReplies(t *testing.T) {
	right := func(seq uint64) []byte { return frameOf(replyFrame, seq, 1, "\x09value") }
	tests := []struct {
		name   string
		closes bool // after the reply
		reply  func(seq uint64) []byte
		want   string // in the error; "" for none
	}{
		{"right", false, func(seq uint64) []byte { return frameOf(replyFrame, seq, 1, "\x00") }, ""},
		{"another call's first", false, func(seq uint64) []byte {
			return append(frameOf(replyFrame, seq+77, 3, "\x01\x01\x01"), frameOf(replyFrame, seq, 1, "\x00")...)
		}, ""},
		{"another call's error first", false, func(seq uint64) []byte {
			return append(frameOf(errorFrame, seq+77, 0, "who?"), frameOf(replyFrame, seq, 1, "\x00")...)
		}, ""},
		{"an error", false, func(seq uint64) []byte { return frameOf(errorFrame, seq, 0, "no room") }, "no room"},
		{"a request", false, func(seq uint64) []byte { return frameOf(requestFrame, seq, 1, "\x00") }, errFrame.Error()},
		{"no frame", false, func(uint64) []byte { return []byte("HTTP/1.1 400 Bad Request\r\n\r\n.........") }, errFrame.Error()},
		{"too few results", false, func(seq uint64) []byte { return frameOf(replyFrame, seq, 0, "") }, "0 results for 1 operations"},
		{"too many results", false, func(seq uint64) []byte { return frameOf(replyFrame, seq, 2, "\x00\x00") }, "2 results for 1 operations"},
		{"none", true, func(uint64) []byte { return nil }, "EOF"},
		{"one byte", true, func(seq uint64) []byte { return right(seq)[:1] }, "EOF"},
		{"a header", true, func(seq uint64) []byte { return right(seq)[:headerLen] }, "EOF"},
		{"half a body", true, func(seq uint64) []byte { return right(seq)[:headerLen+3] }, "EOF"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client := impostor(t, binaryOptions, test.closes, test.reply)
			var batch kvs.Batch
			batch.Get([]byte("k"))
			err := within(t, "a call", func() error {
				_, err := call(client, &batch)
				return err
			})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
