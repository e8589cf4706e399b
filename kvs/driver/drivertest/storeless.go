package drivertest

import (
	"bytes"
	"fmt"
	"net"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/driver"
)

// Storeless tests the server of a driver that has no store: it answers every Get with the value
// that was put first, whatever the key, and the driver says that it has no store. It has more
// kinds than Get and Put.
func Storeless(t *testing.T, row driver.Row, settings map[string]string, more ...kvs.Kind) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	o, store, ended := Options(), new(driver.Null), make(chan error, 1)
	o.Transport, o.Foreign, o.Hosts, o.Settings, o.Null = row.Name, []driver.Row{row}, []string{l.Addr().String()}, settings, true
	go func() {
		socket, err := l.Accept()
		if err == nil {
			err = row.Null(socket, o, store)
		}
		ended <- err
	}()
	d, err := driver.Open(o, driver.Use{CallsInFlight: 1, Kinds: append(more, kvs.Get, kvs.Put)})
	if err != nil {
		t.Fatal(err)
	}
	conn, server, err := d.Dial(t.Context(), 0, 0)
	if err != nil || !server.NoStore {
		t.Fatalf("server %+v, %v, want one without a store", server, err)
	}
	value := bytes.Repeat([]byte{'v'}, 100)
	var mixed []kvs.Op
	for i := range 300 {
		mixed = append(mixed, kvs.Op{Kind: kvs.Get, Key: fmt.Appendf(nil, "key%d", i)}, kvs.Op{Kind: kvs.Put, Key: []byte("k"), Value: bytes.Repeat([]byte{'w'}, 100)})
		for _, kind := range more {
			op := kvs.Op{Kind: kind, Key: []byte("k")}
			if kind.Carries() {
				op.Value = value
			}
			mixed = append(mixed, op)
		}
	}
	for round, ops := range [][]kvs.Op{{{Kind: kvs.Put, Key: []byte("first"), Value: value}}, mixed, mixed} {
		results, err := Do(conn, ops...)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			if reads := ops[i].Kind.Reads(); reads && (!r.Found || !bytes.Equal(r.Value, value)) || r.Read != reads {
				t.Fatalf("round %d: result %d of a %v: %+v", round, i, ops[i].Kind, r)
			}
		}
	}
	if conn.Close(); err == nil {
		err = d.Close()
	}
	if served := <-ended; err != nil || served != nil {
		t.Errorf("%v; the server ends with %v", err, served)
	}
}
