package server

import (
	"context"
	"errors"
	"net"

	"kvlab/kvs/driver"
	"kvlab/kvs/engine"
)

// startStoreless makes this process the store's server: it speaks the store's protocol and keeps
// nothing. stop ends it.
func (h *host) startStoreless(ctx context.Context) (stop func() error, err error) {
	row, store := h.config.store, engine.NewNull()
	o := driver.Options{Settings: h.config.Target.Settings}
	l := &listener{config: h.config, logf: h.node.Logf, conns: make(map[net.Conn]bool)}
	l.foreign = func(conn net.Conn) error { return errors.Join(row.Null(conn, o, store), conn.Close()) }
	if l.Listener, err = net.Listen("tcp", h.config.Listen); err != nil {
		return nil, err
	}
	h.address = l.Addr().String()
	go func() { _ = l.run(ctx) }() // it ends with the listener
	return l.stop, nil
}
