// Package lab is the driver of the course's servers and of those that teams make of them:
// net/rpc by HTTP, with strings as keys and values. The names of the remote methods and of
// their fields are settings; servers of one form share a preset.
//
// The servers have Get and Put only, and count nothing that a client can ask for. They
// answer a missing key with an empty value, so that an empty value is a missing one.
package lab

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/rpc"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/metrics"
)

// Row is the driver. The course's server answers one operation a call: with more of them
// under way it does not answer within -call-timeout.
var Row = driver.Row{Name: "lab", Check: check, Open: open, Batch: 64}

// has reports whether the servers have a kind of operation.
func has(kind kvs.Kind) bool { return kind == kvs.Get || kind == kvs.Put || kind == kvs.Insert }

func check(o driver.Options, u driver.Use) error {
	_, err := newForm(o.Settings)
	return cmp.Or(o.CheckForeign(u, has, settings...), err)
}

// lab is a driver.
type lab struct {
	options driver.Options
	use     driver.Use
	form    *form
}

func open(o driver.Options, u driver.Use) (driver.Driver, error) {
	f, err := newForm(o.Settings)
	return &lab{o, u, f}, err
}

func (l *lab) Dial(ctx context.Context, server, _ int) (driver.Conn, driver.Server, error) {
	var in *bufio.Reader
	socket, err := l.options.Connect(ctx, server, func(socket net.Conn) error {
		in = bufio.NewReaderSize(socket, 64<<10)
		return connect(socket, in)
	})
	if err != nil {
		return nil, driver.Server{}, err
	}
	return newConn(socket, in, l.form, l.options, l.use), driver.Server{Name: l.options.Hosts[server]}, nil
}

// connected is what a server of net/rpc answers to CONNECT (net/rpc/server.go).
const connected = "200 Connected to Go RPC"

// connect switches a connection from HTTP to net/rpc, as rpc.DialHTTP does.
func connect(socket net.Conn, in *bufio.Reader) error {
	if _, err := io.WriteString(socket, "CONNECT "+rpc.DefaultRPCPath+" HTTP/1.0\n\n"); err != nil {
		return err
	}
	answer, err := http.ReadResponse(in, &http.Request{Method: http.MethodConnect})
	if err == nil && answer.Status != connected {
		err = fmt.Errorf("it answers %q", answer.Status)
	}
	if err != nil {
		return fmt.Errorf("connect to net/rpc by HTTP: %w: want a server with rpc.HandleHTTP and http.Serve", err)
	}
	return nil
}

// Explain knows nothing: the servers have no identity.
func (l *lab) Explain(context.Context, int, error) error { return nil }

func (l *lab) Info() driver.Info { return driver.Info{Capabilities: metrics.AllCapabilities} }

func (l *lab) Close() error { return nil }
