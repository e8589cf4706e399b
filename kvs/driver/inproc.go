package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
	"kvlab/metrics"
)

// direct is an engine in this process: what remains of a run without a network.
type direct struct {
	node    string
	dedup   bool
	txn     bool
	row     engine.Row
	engine  kvs.Engine
	service *service.Service
}

func checkDirect(o Options, u Use) error {
	row, err := engine.Find(o.Engine)
	switch {
	case err != nil:
		return err
	case o.Retry:
		return fmt.Errorf("-retry: -transport %s has no connection that could break", InProcess)
	case o.Cached != 0:
		return fmt.Errorf("-cache: -transport %s sends no bytes that it could save", InProcess)
	case o.Dedup && row.NoStore:
		return fmt.Errorf("-dedup: -engine %s has one value for all keys, which would be sent once", o.Engine)
	case u.Txn > 0 && row.CheckTransactions() != nil:
		return fmt.Errorf("-txn: %w", row.CheckTransactions())
	}
	return row.CheckKinds(u.Kinds)
}

func openDirect(o Options, u Use) (Driver, error) {
	e, err := engine.Open(o.Engine, engine.Options{Records: u.Records})
	if err != nil {
		return nil, err
	}
	row, _ := engine.Find(o.Engine) // Open has found it
	return &direct{node: o.Node, dedup: o.Dedup, txn: u.Txn > 0, row: row, engine: e, service: service.New(e)}, nil
}

func (d *direct) Dial(context.Context, int, int) (Conn, Server, error) {
	conn := d.service.Open(d.node)
	conn.Dedup, conn.Transactions = d.dedup, d.txn
	return &directConn{conn: conn}, Server{Name: InProcess, NoStore: d.row.NoStore}, nil
}

// Transactor returns the Transactor of a worker. There is one server, so its attempts are
// whole transactions of it.
func (d *direct) Transactor(conns []Conn) (Transactor, error) { return newTransactor(conns), nil }

func (d *direct) Explain(context.Context, int, error) error { return nil }

func (d *direct) Info() Info {
	return Info{Capabilities: metrics.Capabilities{Engine: d.row.Name + ": " + d.row.Description, Store: !d.row.NoStore}}
}

func (d *direct) Close() error {
	if closer, ok := d.engine.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// directConn executes each call in Send.
type directConn struct {
	conn   *service.Conn
	closed atomic.Bool
}

func (c *directConn) Send(call *kvs.Call) {
	if c.closed.Load() {
		call.Err = errClosed
		return
	}
	call.Err = c.conn.BatchPutGet(call.Batch, call.Reply)
}

var errClosed = errors.New("the connection was closed")

func (c *directConn) Wait(call *kvs.Call) error { return call.Err }

func (c *directConn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.conn.Close()
	}
	return nil
}
