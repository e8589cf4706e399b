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
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/metrics"
)

// Row is the driver. The course's server answers one operation a call: with more of them
// in flight it does not answer within -call-timeout.
var Row = driver.Row{Name: "lab", Check: check, Open: open, Batch: 64, Protocol: "net/rpc with gob", Null: null, Transactions: true}

// has reports whether servers of the form have a kind of operation. A read-modify-write is a Get
// and a Put of one transaction.
func (f *Form) has(kind kvs.Kind) bool {
	return kind == kvs.Get || kind == kvs.Put || kind == kvs.Insert || kind == kvs.ReadModifyWrite && f.txn != nil
}

func check(o driver.Options, u driver.Use) error {
	f, err := NewForm(o.Settings)
	if f == nil {
		f = new(Form)
	}
	if err == nil && u.Txn > 0 && f.txn == nil {
		return fmt.Errorf("-txn %d: the form of the lab server has no transactions: want a preset of transactions, such as venkateshdb-txn, or the setting tx", u.Txn)
	}
	return cmp.Or(o.CheckForeign(u, f.has, Settings...), err)
}

// lab is a driver.
type lab struct {
	options driver.Options
	use     driver.Use
	form    *Form
	ids     atomic.Uint64 // the last attempt's number of a transaction
}

func open(o driver.Options, u driver.Use) (driver.Driver, error) {
	f, err := NewForm(o.Settings)
	l := &lab{options: o, use: u, form: f}
	l.ids.Store(rand.Uint64()) // other clients' differ
	return l, err
}

func (l *lab) Dial(ctx context.Context, server, _ int) (driver.Conn, driver.Server, error) {
	met, err := l.connect(ctx, server, l.form.tcp)
	if err != nil {
		return nil, driver.Server{}, err
	}
	return newConn(met, l), driver.Server{Name: l.options.Hosts[server]}, nil
}

// Transactor returns what executes transactions over connections that Dial returned.
func (l *lab) Transactor(conns []driver.Conn) (driver.Transactor, error) {
	all := make([]*conn, len(conns))
	for i, c := range conns {
		all[i] = c.(*conn)
	}
	return newTransactor(l.form, all, &l.ids, l.options.CallTimeout), nil
}

// Explain knows nothing: the servers have no identity.
func (l *lab) Explain(context.Context, int, error) error { return nil }

func (l *lab) Info() driver.Info { return driver.Info{Capabilities: metrics.AllCapabilities} }

func (l *lab) Close() error { return nil }
