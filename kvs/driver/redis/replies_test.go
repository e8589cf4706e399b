package redis_test

import (
	"bufio"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/drivertest"
	"kvlab/kvs/driver/redis"
	"kvlab/kvs/wire"
)

// replying returns the driver of a server that answers CLIENT SETNAME and INFO, and one more command with a text.
func replying(t *testing.T, text string, timeout time.Duration) driver.Driver {
	server := wiretest.Start(t, func(conn net.Conn) {
		in := bufio.NewReader(conn)
		for line := range 12 { // *3 $6 CLIENT $7 SETNAME $5 kvlab; *2 $4 INFO $6 server
			if _, err := in.ReadString('\n'); err != nil {
				return
			}
			if line == 6 {
				conn.Write([]byte("+OK\r\n"))
			}
		}
		conn.Write([]byte("$8\r\nrun_id:x\r\n"))
		if _, err := in.ReadString('\n'); err == nil {
			conn.Write([]byte(text))
		}
		in.ReadBytes(0) // until the client closes
	})
	o := options(redis.Row, server.Addr().String())
	o.CallTimeout = timeout
	return open(t, o)
}

// A reply that is not one to the operation ends the connection with an error.
func TestBadReplies(t *testing.T) {
	get, put, remove := kvs.Op{Kind: kvs.Get, Key: []byte("k")}, kvs.Op{Kind: kvs.Put, Key: []byte("k")}, kvs.Op{Kind: kvs.Delete, Key: []byte("k")}
	for _, c := range []struct {
		text, want string
		op         kvs.Op
	}{
		{"+OK\r\n", "malformed reply to a get", get}, {":1\r\n", "malformed reply to a get", get}, {"*-1\r\n", "malformed reply to a get", get},
		{"+QUEUED\r\n", "malformed reply to a put", put}, {"$-1\r\n", "malformed reply to a put", put},
		{":2\r\n", "malformed reply to a delete", remove}, {"$1\r\n1\r\n", "malformed reply to a delete", remove},
		{"HTTP/1.1 400\r\n", "RESP protocol error", get}, {"$1048577\r\n", "RESP protocol error", get},
		{"$5\r\nabc", wire.ErrTimeout.Error(), get}, {"", wire.ErrTimeout.Error(), get},
		{"$1\r\na\r\n$1\r\nb\r\n", "", get},
	} {
		timeout := time.Minute
		if c.want == wire.ErrTimeout.Error() {
			timeout = 200 * time.Millisecond
		}
		d := replying(t, c.text, timeout)
		conn := drivertest.Dial(t, d, 0)
		_, err := drivertest.Do(conn, c.op)
		if c.want == "" { // the reply that answers nothing ends the connection for the next call
			_, err = drivertest.Do(conn, c.op)
			c.want = "answers no request"
		}
		var refused *driver.OpError
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &refused) {
			t.Errorf("%q to a %s: error %v, want %q", c.text, c.op.Kind, err, c.want)
		}
		if errors.Is(err, wire.ErrTimeout) != strings.Contains(c.want, wire.ErrTimeout.Error()) {
			t.Errorf("%q: error %v", c.text, err)
		}
	}
}

// A call allocates nothing once its buffers have grown.
func TestAllocations(t *testing.T) {
	server := wiretest.Start(t, func(conn net.Conn) {
		in, replies := bufio.NewReader(conn), []byte(strings.Repeat("$3\r\nabc\r\n", 100))
		for lines := 1; ; lines++ {
			if _, err := in.ReadSlice('\n'); err != nil {
				return
			}
			if lines == 7 {
				conn.Write([]byte("+OK\r\n"))
			} else if lines == 12 {
				conn.Write([]byte("$8\r\nrun_id:x\r\n"))
			} else if lines%500 == 12 { // 100 GETs of 5 lines
				conn.Write(replies)
			}
		}
	})
	d := open(t, options(redis.Row, server.Addr().String()))
	conn := drivertest.Dial(t, d, 0)
	var call kvs.Call
	call.Batch, call.Reply = new(kvs.Batch), new(kvs.Reply)
	for range 100 {
		call.Batch.Get([]byte("key"))
	}
	allocations := testing.AllocsPerRun(100, func() {
		conn.Send(&call)
		if err := conn.Wait(&call); err != nil || call.Reply.Hits != 100 {
			t.Fatal(err)
		}
	})
	if allocations > 1 {
		t.Errorf("%.0f allocations for a call of 100 operations", allocations)
	}
}
