package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/certs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
)

// authority returns a run's whose certificates are good for so long.
func authority(t testing.TB, valid time.Duration) *certs.Authority {
	t.Helper()
	a, err := certs.NewAuthority(valid)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// issued returns a node's TLS, for a server at addr.
func issued(t testing.TB, a *certs.Authority, addr string) *tls.Config {
	t.Helper()
	c, err := a.Issue("node0", netip.MustParseAddr(addr))
	if err != nil {
		t.Fatal(err)
	}
	config, err := c.Config()
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// encryptedOptions returns binaryOptions under TLS, for both sides.
func encryptedOptions(t testing.TB) Options {
	options := binaryOptions
	options.TLS = issued(t, authority(t, time.Hour), "127.0.0.1")
	return options
}

// Whoever does not speak TLS where the other does, or shows a certificate that
// the other does not believe, learns why at once, in one line, and so does the
// other.
func TestEncryptionIsAgreed(t *testing.T) {
	run := authority(t, time.Hour)
	good, elsewhere := issued(t, run, "127.0.0.1"), issued(t, run, "127.0.0.2")
	stranger, over := issued(t, authority(t, time.Hour), "127.0.0.1"), issued(t, authority(t, -time.Second), "127.0.0.1")
	believing := func(own, whom *tls.Config) *tls.Config {
		c := own.Clone()
		c.RootCAs, c.ClientCAs = whom.RootCAs, whom.ClientCAs
		return c
	}
	silent := good.Clone()
	silent.Certificates = nil
	for _, test := range []struct {
		name             string
		server, client   *tls.Config
		toClient, toHost string // in the client's error, and in the server's
	}{
		{"agreed", good, issued(t, run, "10.0.0.1"), "", ""},
		{"client without", good, nil, "the server (node0) was started with -tls, the client without", "the client without"},
		{"server without", nil, good, "the client was started with -tls, the server without", "the client was started with -tls, the server (node0) without"},
		{"server of another run", stranger, good, "the server's certificate: x509: certificate signed by unknown authority", "bad certificate"},
		{"client of another run", good, believing(stranger, good), "the server does not take the client's certificate: tls: unknown certificate authority", "unknown authority"},
		{"server that is over", over, believing(good, over), "the server's certificate: x509: certificate has expired", "bad certificate"},
		{"client that is over", believing(good, over), believing(over, good), "the server does not take the client's certificate: tls: expired certificate", "expired"},
		{"server elsewhere", elsewhere, good, "the server's certificate: x509: certificate is valid for 127.0.0.2, not 127.0.0.1", "bad certificate"},
		{"client without a certificate", good, silent, "the server does not take the client's certificate: tls: certificate required", "didn't provide a certificate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			options, me := binaryOptions, binaryOptions
			options.TLS, me.TLS = test.server, test.client
			s := startServer(t, options, engine.NewMutex())
			var client *Client
			err := within(t, "Dial", func() (err error) {
				client, _, err = Dial(context.Background(), s.addr, me)
				return err
			})
			if test.toClient == "" {
				if err != nil {
					t.Fatal(err)
				}
				client.Close()
			} else if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), test.toClient) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the client's error %v, want %q", err, test.toClient)
			}
			if err := s.end(t); test.toHost == "" && err != nil || test.toHost != "" && (err == nil || !strings.Contains(err.Error(), test.toHost) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("the server's error %v, want %q", err, test.toHost)
			}
			if n := s.service.Conns(); n != 0 {
				t.Errorf("%d sessions are left", n)
			}
		})
	}
}

// What stops in the middle of TLS, or is none, ends its connection.
func TestServerMeetsNoTLS(t *testing.T) {
	s := startServer(t, encryptedOptions(t), engine.NewMutex())
	for _, text := range []string{"", "\x16", "\x16\x03\x01", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "\x16\x03\x01\x00\x05hello", strings.Repeat("\xff", 100_000)} {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		conn.Write([]byte(text))
		conn.(*net.TCPConn).CloseWrite()
		if err := s.end(t); err == nil {
			t.Errorf("%.20q is served", text)
		}
		checkClosed(t, conn)
		conn.Close()
	}
}

// TLS recognizes a handshake without it, of any length, from either side.
func TestClearIsRecognized(t *testing.T) {
	config := encryptedOptions(t).TLS
	config.ServerName = "127.0.0.1"
	for n := range 300 {
		whole, err := seal(message{Hello: Hello{Node: strings.Repeat("n", n)}})
		if err != nil {
			t.Fatal(err)
		}
		for side, conn := range map[string]*tls.Conn{"server": tls.Server(newTape(whole), config), "client": tls.Client(newTape(whole), config)} {
			if err := conn.Handshake(); !isClear(err) {
				t.Errorf("%s, a message of %d bytes: %v", side, len(whole), err)
			}
		}
	}
}

// overheard keeps what is written to a connection.
type overheard struct {
	net.Conn
	mu  sync.Mutex
	all []byte // guarded by mu
}

func (o *overheard) Write(p []byte) (int, error) {
	o.mu.Lock()
	o.all = append(o.all, p...)
	o.mu.Unlock()
	return o.Conn.Write(p)
}

// count returns how often a text was written.
func (o *overheard) count(text []byte) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Count(o.all, text)
}

// A value that is stored and read back shows on the wire in clear, twice, and
// under TLS not at all. The token shows never.
func TestEncryptionHides(t *testing.T) {
	for _, test := range []struct {
		options Options
		seen    int
	}{{binaryOptions, 2}, {encryptedOptions(t), 0}} {
		test.options.Token = "a-very-secret-token"
		socket, far := connected(t)
		near, host := &overheard{Conn: socket}, &overheard{Conn: far}
		ended := make(chan error, 1)
		go func() { ended <- serve(host, test.options, service.New(engine.NewMutex())) }()
		conn, _, err := test.options.reach(near, "127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		client := newClient(newBinaryClient(conn, Features{}), 0, nil)
		secret := []byte("a value that nobody else is to see")
		var batch kvs.Batch
		batch.Append(kvs.Put, []byte("key"), secret)
		batch.Get([]byte("key"))
		reply, err := call(client, &batch)
		if err != nil || !bytes.Contains(reply.Frame(), secret) {
			t.Errorf("the reply lacks the value: %v", err)
		}
		client.Close()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if n := near.count(secret) + host.count(secret); n != test.seen {
			t.Errorf("TLS %t: the value went over the wire %d times in clear, want %d", test.options.TLS != nil, n, test.seen)
		}
		token, err := json.Marshal([]byte(test.options.Token))
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range [][]byte{[]byte(test.options.Token), token[1 : len(token)-2]} {
			if near.count(form)+host.count(form) > 0 {
				t.Errorf("TLS %t: %q went over the wire", test.options.TLS != nil, form)
			}
		}
	}
}
