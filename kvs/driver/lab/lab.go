// Package lab is the driver of the course's servers and of those that teams make of them:
// net/rpc by HTTP or on TCP, with strings as keys and values. The names of the remote methods and of
// their fields are settings; servers of one form share a preset.
//
// The servers have Get and Put only, and count nothing that a client can ask for. They
// answer a missing key with an empty value, so that an empty value is a missing one.
package lab

import (
	"cmp"
	"context"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/metrics"
)

// Row is the driver. The course's server answers one operation a call: with more of them
// in flight it does not answer within -call-timeout.
var Row = driver.Row{Name: "lab", Check: check, Open: open, Batch: 64, Protocol: "net/rpc with gob", Null: null}

// has reports whether the servers have a kind of operation.
func has(kind kvs.Kind) bool { return kind == kvs.Get || kind == kvs.Put || kind == kvs.Insert }

func check(o driver.Options, u driver.Use) error {
	_, err := NewForm(o.Settings)
	return cmp.Or(o.CheckForeign(u, has, Settings...), err)
}

// lab is a driver.
type lab struct {
	options driver.Options
	use     driver.Use
	form    *Form
}

func open(o driver.Options, u driver.Use) (driver.Driver, error) {
	f, err := NewForm(o.Settings)
	return &lab{o, u, f}, err
}

func (l *lab) Dial(ctx context.Context, server, _ int) (driver.Conn, driver.Server, error) {
	met, err := l.connect(ctx, server, l.form.tcp)
	if err != nil {
		return nil, driver.Server{}, err
	}
	return newConn(met, l.form, l.options, l.use), driver.Server{Name: l.options.Hosts[server]}, nil
}

// Explain knows nothing: the servers have no identity.
func (l *lab) Explain(context.Context, int, error) error { return nil }

func (l *lab) Info() driver.Info { return driver.Info{Capabilities: metrics.AllCapabilities} }

func (l *lab) Close() error { return nil }
