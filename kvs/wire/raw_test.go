package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"kvlab/kvs/service"
)

// rawServer serves one connection; the error is what Serve returned.
func rawServer(t *testing.T, id Options) (addr string, served <-chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	done := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = serve(conn, id, service.New(nil))
		}
		done <- err
	}()
	return l.Addr().String(), done
}

// counted counts what goes through a connection.
type counted struct {
	net.Conn
	sent, received int
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sent += n
	return n, err
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received += n
	return n, err
}

// A raw connection carries exactly the bytes that were agreed.
func TestRaw(t *testing.T) {
	for _, sizes := range []RawSizes{{1, 1}, {40, 162}, {rawPart, rawPart + 1}, {130_000, 1_000_000}, {1_000_000, 1}} {
		addr, served := rawServer(t, Options{Hello: Hello{Codec: RawCodec}, Token: "secret"})
		raw, err := DialRaw(context.Background(), addr, Options{Hello: Hello{Node: "client"}, Token: "secret"}, sizes)
		if err != nil {
			t.Fatal(err)
		}
		conn := &counted{Conn: raw.conn}
		raw.conn = conn
		const calls = 5
		for i := range calls {
			if err := raw.Send(); err != nil {
				t.Fatalf("%v: request %d: %v", sizes, i, err)
			}
			if err := raw.Receive(); err != nil {
				t.Fatalf("%v: reply %d: %v", sizes, i, err)
			}
		}
		if conn.sent != calls*sizes.Request || conn.received != calls*sizes.Reply {
			t.Errorf("%v: %d bytes there and %d back in %d calls", sizes, conn.sent, conn.received, calls)
		}
		raw.Close()
		if err := <-served; err != nil {
			t.Errorf("%v: after a close between two calls Serve returns %v", sizes, err)
		}
	}
}

func TestRawErrors(t *testing.T) {
	ctx := context.Background()
	for _, sizes := range []RawSizes{{0, 1}, {1, 0}, {-1, 1}, {1, MaxBody + headerLen + 1}} {
		if _, err := DialRaw(ctx, "127.0.0.1:1", Options{}, sizes); err == nil || !strings.Contains(err.Error(), "want 1 to") {
			t.Errorf("DialRaw with %v: error %v", sizes, err)
		}
		addr, served := rawServer(t, Options{Hello: Hello{Codec: RawCodec}})
		conn, _, err := connect(ctx, addr, Options{Hello: Hello{Codec: RawCodec}})
		if err != nil {
			t.Fatal(err)
		}
		if err := send(conn, sizes); err != nil { // by a client that does not look
			t.Fatal(err)
		}
		if err := <-served; err == nil || !strings.Contains(err.Error(), "want 1 to") {
			t.Errorf("Serve with %v: error %v", sizes, err)
		}
		conn.Close()
	}
	for _, cut := range []int{1, rawPart - 1, rawPart, 2*rawPart - 1} {
		addr, served := rawServer(t, Options{Hello: Hello{Codec: RawCodec}})
		raw, err := DialRaw(ctx, addr, Options{}, RawSizes{2 * rawPart, 1})
		if err != nil {
			t.Fatal(err)
		}
		raw.conn.Write(make([]byte, cut))
		raw.Close()
		if err := <-served; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a request cut short after %d bytes: Serve returns %v", cut, err)
		}
	}
	// Neither kind of client is taken for the other.
	addr, _ := rawServer(t, Options{Hello: Hello{Codec: RawCodec}})
	if _, _, err := Dial(ctx, addr, Options{Hello: Hello{Codec: "binary"}}); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "-codec raw") {
		t.Errorf("a client with calls at a raw server: error %v", err)
	}
	addr, _ = rawServer(t, Options{Hello: Hello{Codec: "binary"}})
	if _, err := DialRaw(ctx, addr, Options{}, RawSizes{1, 1}); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "-codec binary") {
		t.Errorf("a raw client at a server with calls: error %v", err)
	}
}
