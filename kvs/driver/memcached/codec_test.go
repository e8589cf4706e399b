package memcached

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/driver"
)

// gets returns n Gets of different keys.
func gets(n int) (ops []kvs.Op) {
	for i := range n {
		ops = append(ops, kvs.Op{Kind: kvs.Get, Key: fmt.Appendf(nil, "%d", 100_000+i)})
	}
	return ops
}

// parse parses replies that arrive in pieces, and returns a letter for each result and the
// error.
func parse(c *codec, replies string, ops []kvs.Op, piece int) (results string, left int, err error) {
	var reply kvs.Reply
	reply.Reset()
	at, end := 0, 0
	for err == nil && end < len(replies) {
		end = min(end+piece, len(replies))
		for err == nil {
			var size, n int
			size, n, err = c.Parse([]byte(replies[at:end]), ops, &reply)
			if at, ops = at+size, ops[n:]; size == 0 || len(ops) == 0 {
				break
			}
		}
	}
	cursor := reply.Results()
	for range reply.Len() {
		r, _ := cursor.Next()
		switch {
		case r.Found:
			results += string(r.Value)
		case r.Read:
			results += "-"
		default:
			results += "+"
		}
	}
	return results, len(replies) - at, err
}

// Replies have the same results however they arrive.
func TestParse(t *testing.T) {
	op := func(kind kvs.Kind, key string) kvs.Op { return kvs.Op{Kind: kind, Key: []byte(key)} }
	get := func(keys ...string) (ops []kvs.Op) {
		for _, key := range keys {
			ops = append(ops, op(kvs.Get, key))
		}
		return ops
	}
	malformed := kvs.ErrMalformed
	for _, c := range []struct {
		ops     []kvs.Op
		replies string
		results string
		err     error
	}{
		{get("a", "b"), "VALUE a 0 1\r\nx\r\nVALUE b 0 2\r\n\r\n\r\nEND\r\n", "x\r\n", nil},
		{get("a", "b", "c"), "VALUE b 0 1\r\nx\r\nEND\r\n", "-x-", nil},
		{get("a", "a", "b"), "VALUE a 0 1\r\nx\r\nVALUE a 0 1\r\ny\r\nEND\r\n", "xy-", nil},
		{get("a"), "END\r\n", "-", nil},
		{append(get("a"), op(kvs.Put, "a"), op(kvs.Delete, "a"), op(kvs.Delete, "a"), op(kvs.Get, "a")),
			"VALUE a 5 3\r\nEND\r\nEND\r\nSTORED\r\nDELETED\r\nNOT_FOUND\r\nEND\r\n", "END++--", nil},
		{get("a"), "VALUE b 0 1\r\nx\r\nEND\r\n", "", malformed},
		{get("a"), "VALUE a 0 1\r\nx\r\nVALUE a 0 1\r\nx\r\nEND\r\n", "", malformed},
		{get("a", "b"), "VALUE a 0 1\r\nxyzVALUE", "", malformed},
		{get("a"), "VALUE a 0 99999999\r\n", "", malformed},
		{get("a"), "VALUE a 0 -1\r\n", "", malformed},
		{get("a"), "VALUE a\r\n", "", malformed},
		{get("a"), "STORED\r\n", "", malformed},
		{get("a"), "END\n", "", malformed},
		{get("a"), string(make([]byte, maxLine)), "", malformed},
		{get("a"), "ERROR\r\n", "", malformed},
		{[]kvs.Op{op(kvs.Put, "a")}, "CLIENT_ERROR bad data chunk\r\n", "", malformed},
		{[]kvs.Op{op(kvs.Put, "a")}, "NOT_STORED\r\n", "", malformed},
		{[]kvs.Op{op(kvs.Put, "a")}, "SERVER_ERROR object too large for cache\r\n", "", &driver.OpError{Effect: driver.NotApplied}},
		{[]kvs.Op{op(kvs.Put, "a")}, "SERVER_ERROR something\r\n", "", &driver.OpError{Effect: driver.Unknown}},
		{get("a", "b"), "SERVER_ERROR out of memory writing get response\r\n", "", &driver.OpError{Effect: driver.NotApplied}},
	} {
		for piece := 1; piece <= len(c.replies); piece++ {
			results, left, err := parse(&codec{}, c.replies, c.ops, piece)
			var refused, want *driver.OpError
			switch errors.As(c.err, &want); {
			case want != nil && (!errors.As(err, &refused) || refused.Effect != want.Effect),
				want == nil && !errors.Is(err, c.err),
				c.err == nil && (results != c.results || left != 0):
				t.Errorf("%.60q in pieces of %d: %q, %d bytes left, %v; want %q, %v", c.replies, piece, results, left, err, c.results, c.err)
			}
		}
	}
}

// A command has no key twice where keys come and go.
func TestDistinct(t *testing.T) {
	ops := append(gets(20), gets(20)...)
	for distinct, want := range map[bool]int{false: 40, true: 20} {
		c := &codec{distinct: distinct}
		request, n, err := c.Append(nil, ops)
		if err != nil || n > want || !distinct && n < want || bytes.Count(request, []byte(" ")) != n {
			t.Errorf("distinct %v: %d keys in %q, %v", distinct, n, request, err)
		}
	}
}

// Whatever a server replies, no operation has two results and no byte is parsed twice.
func FuzzParse(f *testing.F) {
	f.Add([]byte("VALUE 100000 0 1\r\nx\r\nVALUE 100002 0 2\r\nyz\r\nEND\r\nSTORED\r\nNOT_FOUND\r\nEND\r\n"), true)
	f.Add([]byte("END\r\nSERVER_ERROR object too large for cache\r\nDELETED\r\nEND\r\n"), false)
	f.Fuzz(func(t *testing.T, replies []byte, distinct bool) {
		ops := append(gets(3), kvs.Op{Kind: kvs.Put, Key: []byte("a")}, kvs.Op{Kind: kvs.Delete, Key: []byte("a")})
		ops = append(ops, gets(1)...)
		c, all := &codec{distinct: distinct}, len(ops)
		var reply kvs.Reply
		reply.Reset()
		var refused *driver.OpError
		for refusals := 0; len(ops) > 0; {
			size, n, err := c.Parse(replies, ops, &reply)
			if size > len(replies) || n > len(ops) || c.left > len(ops)-n && err == nil {
				t.Fatalf("%d of %d bytes, %d of %d operations, %d left of a get", size, len(replies), n, len(ops), c.left)
			}
			replies, ops = replies[size:], ops[n:]
			if errors.As(err, &refused) {
				refusals += n
			} else if err != nil || size == 0 {
				break
			}
			if got := reply.Len(); got > all-len(ops) || got+refusals < all-len(ops) {
				t.Fatalf("%d results and %d refusals of %d operations", got, refusals, all-len(ops))
			}
		}
	})
}

// A Get's request is appended, and its reply parsed.
func BenchmarkGet(b *testing.B) {
	ops, c := gets(64), &codec{}
	var replies []byte
	for _, op := range ops {
		replies = fmt.Appendf(replies, "VALUE %s 0 128\r\n%s\r\n", op.Key, make([]byte, 128))
	}
	replies = append(replies, end...)
	var reply kvs.Reply
	var request []byte
	b.ReportAllocs()
	for n := 0; b.Loop(); n += len(ops) {
		reply.Reset()
		request, _, _ = c.Append(request[:0], ops)
		for size, rest := 0, ops; len(rest) > 0; {
			taken, n, err := c.Parse(replies[size:], rest, &reply)
			if size, rest = size+taken, rest[n:]; err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ops)), "ns/get")
}
