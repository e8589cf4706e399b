package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// connected returns both ends of a loopback connection.
func connected(t *testing.T) (client, server net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, _ := listener.Accept()
		accepted <- conn
	}()
	if client, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server = <-accepted; server == nil {
		t.Fatal("no connection was accepted")
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// Client and server come to the same conclusion, and an error says on both
// sides what differs.
func TestHandshake(t *testing.T) {
	tests := []struct {
		name   string
		change func(server, me *Options)
		want   string // in both errors; "" for none
	}{
		{"alike", func(_, _ *Options) {}, ""},
		{"another codec", func(server, _ *Options) { server.Codec = "gob" }, "-codec gob"},
		{"another run", func(server, _ *Options) { server.Token = "earlier" }, "belongs to another run"},
		{"a server without a run", func(server, _ *Options) { server.Token = "" }, "belongs to another run"},
		{"a session", func(_, me *Options) { *me = sessionOptions(0, 1) }, ""},
		{"a session of another codec", func(server, me *Options) { *me = sessionOptions(0, 1); me.Codec, server.Codec = "gob", "gob" }, "-retry: -codec gob does not support it"},
		{"a session of no calls", func(_, me *Options) { *me = sessionOptions(0, 1); me.Session.Window = 0 }, "a session out of its limits"},
		{"a session with a short name", func(_, me *Options) { *me = sessionOptions(0, 1); me.Session.Client = "me" }, "a session out of its limits"},
		{"a session to be kept for an hour", func(_, me *Options) { *me = sessionOptions(0, 1); me.Session.Keep = time.Hour }, "a session out of its limits"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			options, me := binaryOptions, binaryOptions
			test.change(&options, &me)
			me.Node = "node1"
			s := startServer(t, options, engine.NewMutex())
			client, met, err := Dial(context.Background(), s.addr, me)
			if test.want == "" {
				if err != nil || met.Node != "node0" {
					t.Fatalf("client meets %q, %v", met.Node, err)
				}
				var batch kvs.Batch
				batch.Get([]byte("k"))
				if _, err := call(client, &batch); err != nil || s.service.Counts()["node1"].Gets != 1 {
					t.Errorf("%v, the server counts %v", err, s.service.Counts())
				}
				client.Close()
				return
			}
			if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), s.addr) {
				t.Errorf("client's error %v, want a refusal with %q that names the server", err, test.want)
			}
			if err := s.end(t); err == nil {
				t.Error("the server admitted the client")
			}
		})
	}
}

// A client with a cache is refused by an engine without versions, which names those that
// have them, and a client without one is not.
func TestUnversioned(t *testing.T) {
	for _, name := range engine.Names {
		row, err := engine.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		options := Options{Hello: Hello{Node: "server0", Codec: "binary"}, Unversioned: row.CheckVersions()}
		for _, cache := range []bool{false, true} {
			h := message{Protocol: protocol, Values: kvs.ValueFormat, Nonce: newNonce(), Hello: Hello{Node: "client0", Codec: "binary", Features: Features{Cache: cache}}}
			want := fmt.Sprintf("the server (server0): -cache: -engine %s keeps no versions of its values: want -engine syncmap or slab", name)
			if err := options.objection(h); (err != nil) != (cache && !row.Versions) || err != nil && err.Error() != want {
				t.Errorf("%s, a client with a cache %t: %v", name, cache, err)
			}
		}
	}
}

// tell and hear are the two halves of a peer that plays the handshake its own
// way.
func tell(t *testing.T, conn net.Conn, m message) {
	t.Helper()
	if err := send(conn, m); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, conn net.Conn) message {
	t.Helper()
	conn.SetDeadline(time.Now().Add(patience))
	m, err := receive(conn)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Hellos that a server objects to.
func TestServerObjects(t *testing.T) {
	binary := Hello{Codec: "binary"}
	tests := []struct {
		name  string
		hello message
		want  string
	}{
		{"a later protocol", message{Protocol: protocol + 1, Nonce: newNonce(), Hello: binary}, fmt.Sprintf("speaks protocol %d, the client %d: use binaries of one build", protocol, protocol+1)},
		{"no protocol", message{Nonce: newNonce(), Hello: binary}, "use binaries of one build"},
		{"a later value format", message{Protocol: protocol, Values: kvs.ValueFormat + 1, Nonce: newNonce(), Hello: binary}, fmt.Sprintf("knows value format %d, the client %d: use binaries of one build", kvs.ValueFormat, kvs.ValueFormat+1)},
		{"no codec", message{Protocol: protocol, Values: kvs.ValueFormat, Nonce: newNonce()}, "-codec"},
		{"no nonce", message{Protocol: protocol, Values: kvs.ValueFormat, Hello: binary}, "nonce is too short"},
	}
	s := startServer(t, binaryOptions, engine.NewMutex())
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", s.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			tell(t, conn, test.hello)
			c := hear(t, conn)
			if !strings.Contains(c.Error, test.want) || len(c.Proof) != 0 {
				t.Errorf("the server says %+v, want the error %q and no proof", c, test.want)
			}
			if err := s.end(t); !errors.Is(err, ErrRefused) {
				t.Errorf("Serve: error %v, want a refusal", err)
			}
		})
	}
}

// A client gives a server without the token nothing to work with.
func TestClientMeetsImpostor(t *testing.T) {
	near, far := connected(t)
	met := make(chan error, 1)
	go func() {
		_, err := binaryOptions.greet(near)
		near.Close()
		met <- err
	}()
	h := hear(t, far)
	tell(t, far, message{Hello: Hello{Node: "stale"}, Nonce: newNonce(), Proof: Options{Token: "guess"}.proof("server", h.Nonce, h.Nonce)})
	if err := <-met; !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "stale") {
		t.Errorf("error %v, want a refusal that names the server", err)
	}
	if n, err := io.Copy(io.Discard, far); n != 0 || isTimeout(err) {
		t.Errorf("the impostor received %d bytes after its challenge, error %v", n, err)
	}
}

// Peers that do not speak the handshake, seen from both sides. Each sends some
// bytes and closes.
func TestHandshakeMeetsGarbage(t *testing.T) {
	whole := func(text string) []byte {
		text += checksum([]byte(text))
		return append(binary.LittleEndian.AppendUint16(nil, uint16(len(text))), text...)
	}
	tests := []struct {
		name string
		sent []byte
		want string
	}{
		{"nothing", nil, "EOF"},
		{"half a length", []byte{7}, "EOF"},
		{"half a message", whole(`{"protocol":1}`)[:9], "EOF"},
		{"a web browser", []byte("GET / HTTP/1.1\r\n\r\n"), `unknown protocol: it begins with "GET"`},
		{"an oversized message", whole(strings.Repeat(" ", maxHandshake+1)), "unknown protocol: it begins with"},
		{"no JSON", whole("hello"), "unknown protocol"},
		{"no checksum", []byte("\x02\x00{}"), "checksum"},
		{"broken JSON", whole("{hello}"), "invalid character"},
		{"JSON of another kind", whole(`{"nonce":1}`), "cannot unmarshal"},
	}
	halves := map[string]func(net.Conn) error{
		"greet": func(conn net.Conn) error { _, err := binaryOptions.greet(conn); return err },
		"admit": func(conn net.Conn) error { _, err := binaryOptions.admit(conn, nil); return err },
	}
	for half, shake := range halves {
		for _, test := range tests {
			t.Run(half+" meets "+test.name, func(t *testing.T) {
				near, far := connected(t)
				far.Write(test.sent)
				far.(*net.TCPConn).CloseWrite() // closing would reset what the client sends
				err := within(t, "the handshake", func() error { return shake(near) })
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want one with %q", err, test.want)
				}
			})
		}
	}
}

// hasty shortens every deadline to a moment, and remembers how long the longest
// would have been, and the last one.
type hasty struct {
	net.Conn
	moment  time.Duration // 0 leaves deadlines as they are
	longest time.Duration
	last    time.Time
}

func (h *hasty) SetDeadline(t time.Time) error {
	h.last = t
	if t.IsZero() || h.moment == 0 {
		return h.Conn.SetDeadline(t)
	}
	h.longest = max(h.longest, time.Until(t))
	return h.Conn.SetDeadline(time.Now().Add(h.moment))
}

// A peer that sends nothing, or stops halfway, holds no server for longer than the
// handshake's time.
func TestHandshakeMeetsSilence(t *testing.T) {
	halves := map[string]func(net.Conn) error{
		"greet": func(conn net.Conn) error { _, err := binaryOptions.greet(conn); return err },
		"admit": func(conn net.Conn) error { _, err := binaryOptions.admit(conn, nil); return err },
	}
	for half, shake := range halves {
		for name, sent := range map[string][]byte{"silence": nil, "half a length": {3}, "half a message": {3, 0, '{'}} {
			t.Run(half+" meets "+name, func(t *testing.T) {
				near, far := connected(t)
				far.Write(sent)
				h := &hasty{Conn: near, moment: 20 * time.Millisecond}
				err := within(t, "the handshake", func() error { return shake(h) })
				var timeout net.Error
				if !errors.As(err, &timeout) || !timeout.Timeout() {
					t.Errorf("error %v, want a timeout", err)
				}
				if h.longest <= 0 || h.longest > handshakeTimeout {
					t.Errorf("a deadline in %v, want within %v", h.longest, handshakeTimeout)
				}
			})
		}
	}
}

// After the handshake no deadline is left, and no byte of what follows was
// taken.
func TestHandshakeLeavesConnectionAsItWas(t *testing.T) {
	near, far := connected(t)
	server := &hasty{Conn: far, last: time.Now()}
	done := make(chan error, 1)
	go func() {
		if _, err := binaryOptions.admit(server, nil); err != nil {
			done <- err
			return
		}
		if !server.last.IsZero() {
			done <- fmt.Errorf("the deadline %v is left", server.last)
			return
		}
		got := make([]byte, 5)
		_, err := io.ReadFull(server, got)
		if err == nil && !bytes.Equal(got, []byte("frame")) {
			err = errors.New("the first bytes after the handshake are " + string(got))
		}
		done <- err
	}()
	if _, err := binaryOptions.greet(near); err != nil {
		t.Fatal(err)
	}
	io.WriteString(near, "frame")
	if err := within(t, "the server", func() error { return <-done }); err != nil {
		t.Error(err)
	}
}
