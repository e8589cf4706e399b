package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"strings"
	"testing"

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

// A frame whose body is no batch is answered with an error, and the connection
// goes on: the frames are still in step.
func TestServerMeetsMalformedBatch(t *testing.T) {
	s := startServer(t, binaryOptions, engine.NewMutex())
	client := s.dial(t, binaryOptions)
	var bad, good kvs.Batch
	copy(bad.Body(5, 2), "\x00\x01k\x07\x00")
	good.Get([]byte("k"))
	var answered rpc.ServerError
	if _, err := call(client, &bad); !errors.As(err, &answered) || !strings.Contains(err.Error(), "malformed batch") {
		t.Errorf("error %v, want the server's, that the batch is malformed", err)
	}
	if _, err := call(client, &good); err != nil {
		t.Errorf("the call after the error: %v", err)
	}
}

// impostor shakes hands with one client, reads its first request, and answers
// it with whatever reply makes of the call's number.
func impostor(t *testing.T, reply func(seq uint64) []byte) *Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, err := binaryOptions.admit(conn, nil); err != nil {
			t.Error(err)
			return
		}
		var head [headerLen]byte
		in := bufio.NewReader(conn)
		if _, err := io.ReadFull(in, head[:]); err != nil {
			t.Error(err)
			return
		}
		h, err := parseHeader(head[:], requestFrame)
		if err != nil {
			t.Error(err)
			return
		}
		conn.Write(reply(h.seq))
		io.Copy(io.Discard, in) // until the client has closed
	}()
	client, _, err := Dial(context.Background(), listener.Addr().String(), binaryOptions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// frameOf returns a whole frame with a body.
func frameOf(kind frameType, seq uint64, count int, body string) []byte {
	frame := append(make([]byte, headerLen), body...)
	header{kind: kind, seq: seq, count: uint32(count), size: uint32(len(body))}.put(frame)
	return frame
}

func TestClientMeetsBadReplies(t *testing.T) {
	tests := []struct {
		name  string
		reply func(seq uint64) []byte
		want  string // in the error; "" for none
	}{
		{"right", func(seq uint64) []byte { return frameOf(replyFrame, seq, 1, "\x00") }, ""},
		{"another call's first", func(seq uint64) []byte {
			return append(frameOf(replyFrame, seq+77, 3, "\x01\x01\x01"), frameOf(replyFrame, seq, 1, "\x00")...)
		}, ""},
		{"another call's error first", func(seq uint64) []byte {
			return append(frameOf(errorFrame, seq+77, 0, "who?"), frameOf(replyFrame, seq, 1, "\x00")...)
		}, ""},
		{"an error", func(seq uint64) []byte { return frameOf(errorFrame, seq, 0, "no room") }, "no room"},
		{"a request", func(seq uint64) []byte { return frameOf(requestFrame, seq, 1, "\x00") }, errFrame.Error()},
		{"no frame", func(uint64) []byte { return []byte("HTTP/1.1 400 Bad Request\r\n\r\n.........") }, errFrame.Error()},
		{"too few results", func(seq uint64) []byte { return frameOf(replyFrame, seq, 0, "") }, "0 results for 1 operations"},
		{"too many results", func(seq uint64) []byte { return frameOf(replyFrame, seq, 2, "\x00\x00") }, "2 results for 1 operations"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client := impostor(t, test.reply)
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

// A reply that is cut off fails its call.
func TestClientMeetsBrokenReply(t *testing.T) {
	for _, cut := range []int{1, headerLen, headerLen + 3} {
		t.Run(fmt.Sprintf("after %d bytes", cut), func(t *testing.T) {
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
				if _, err := binaryOptions.admit(conn, nil); err != nil {
					t.Error(err)
				}
				io.ReadFull(conn, make([]byte, headerLen+3)) // the whole request: closing sends no reset
				conn.Write(frameOf(replyFrame, 0, 1, "\x09value")[:cut])
			}()
			client, _, err := Dial(context.Background(), listener.Addr().String(), binaryOptions)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			var batch kvs.Batch
			batch.Get([]byte("k"))
			if err := within(t, "a call", func() error { _, err := call(client, &batch); return err }); err == nil ||
				!strings.Contains(err.Error(), "EOF") {
				t.Errorf("error %v, want an unexpected end", err)
			}
		})
	}
}
