package drivertest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/driver"
)

// Bytes tests that the calls of a driver of the server at addr say how many bytes they have on
// the connection: they are those that pass through a proxy, which open gets the address of.
func Bytes(t *testing.T, addr string, open func(t *testing.T, addr string) driver.Driver) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	passed := make(chan *driver.Meter, 1)
	go func() {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", addr)
		if err != nil {
			client.Close()
			return
		}
		meter := &driver.Meter{Conn: client}
		passed <- meter
		go func() { _, _ = io.Copy(server, struct{ io.Reader }{meter}); server.Close() }() // until either end closes
		_, _ = io.Copy(struct{ io.Writer }{meter}, server)
		client.Close()
	}()
	conn := Dial(t, open(t, l.Addr().String()), 0)
	meter := <-passed
	for round := range 3 {
		var ops []kvs.Op
		for i := range 200 {
			ops = append(ops, kvs.Op{Kind: []kvs.Kind{kvs.Put, kvs.Get, kvs.Get}[i%3], Key: fmt.Appendf(nil, "key%d", i/3), Value: bytes.Repeat([]byte{'v'}, 100+100*round)})
		}
		meter.Take()
		c := newCall(ops...)
		conn.Send(&c.Call)
		if _, err := c.results(conn); err != nil {
			t.Fatal(err)
		}
		if back, there := meter.Take(); c.Sent != there || c.Received != back {
			t.Errorf("round %d: %d bytes sent and %d received, the proxy passed %d and %d", round, c.Sent, c.Received, there, back)
		}
	}
}
