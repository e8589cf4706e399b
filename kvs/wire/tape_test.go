package wire

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"kvlab/kvs"
)

// tape is a connection whose other end says a given text and nothing else. As a
// client it shakes hands first, with the answer that the server's challenge asks
// for; what the server says then is in out.
type tape struct {
	net.Conn
	in      bytes.Buffer
	out     bytes.Buffer
	options Options // of the client; shaken is true without a handshake
	nonce   []byte
	text    []byte // for after the handshake
	shaken  bool
	closed  bool
}

// newTape returns a connection on which text comes as it is.
func newTape(text []byte) *tape {
	t := &tape{shaken: true}
	t.in.Write(text)
	return t
}

// newClientTape returns a client's connection, on which text comes after the
// handshake.
func newClientTape(tb testing.TB, options Options, text []byte) *tape {
	t := &tape{options: options, nonce: make([]byte, 16), text: text}
	t.say(tb, message{Protocol: protocol, Values: kvs.ValueFormat, Nonce: t.nonce, Hello: options.Hello})
	return t
}

func (t *tape) say(tb testing.TB, m message) {
	whole, err := seal(m)
	if err != nil {
		tb.Fatal(err)
	}
	t.in.Write(whole)
}

// Write takes what the server says: a challenge, a welcome, replies.
func (t *tape) Write(b []byte) (int, error) {
	switch {
	case t.closed:
		return 0, net.ErrClosed
	case t.shaken:
		return t.out.Write(b)
	case t.text == nil: // the welcome
		t.shaken = true
		return len(b), nil
	}
	c, err := open(b[2:])
	if err != nil {
		return 0, err
	}
	whole, err := seal(message{Proof: t.options.proof("client", c.Nonce, t.nonce)})
	if err != nil {
		return 0, err
	}
	t.in.Write(whole)
	t.in.Write(t.text)
	t.text = nil
	return len(b), nil
}

func (t *tape) Read(b []byte) (int, error) {
	if t.closed {
		return 0, net.ErrClosed
	}
	return t.in.Read(b)
}

func (t *tape) Close() error {
	t.closed = true
	return nil
}

func (t *tape) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
func (t *tape) SetDeadline(time.Time) error      { return nil }
func (t *tape) SetReadDeadline(time.Time) error  { return nil }
func (t *tape) SetWriteDeadline(time.Time) error { return nil }

// sealed returns a request with a right header before any body.
func sealed(body []byte, seq uint64, count uint32, crc bool) []byte {
	frame := append(make([]byte, headerLen), body...)
	c := binaryConn{crc: crc}
	c.seal(header{kind: requestFrame, seq: seq, count: count}, frame)
	return frame
}

// said is one reply as the tape's client reads it.
type said struct {
	seq     uint64
	failure string   // of an error frame
	words   []string // of a reply
}

// replies reads what the server said; the last frame must be whole.
func (t *tape) replies(tb *testing.T, crc bool) []said {
	tb.Helper()
	var all []said
	for in := newBinaryConn(newTape(t.out.Bytes()), crc); ; {
		err := in.readHeader(replyFrame, errorFrame)
		if err == io.EOF {
			return all
		}
		if err != nil {
			tb.Fatalf("after %d replies: %v", len(all), err)
		}
		one := said{seq: in.next.seq}
		if in.next.kind == errorFrame {
			text := make([]byte, in.next.size)
			err = in.readBody(text)
			one.failure = string(text)
		} else {
			var reply kvs.Reply
			if err = in.readBody(reply.Body(int(in.next.size), int(in.next.count), false)); err == nil {
				one.words = words(tb, &reply)
			}
		}
		if err != nil {
			tb.Fatalf("after %d replies: %v", len(all), err)
		}
		all = append(all, one)
	}
}
