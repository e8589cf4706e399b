package door

import (
	"fmt"
	"strings"

	"kvlab/kvs"
	"kvlab/kvs/resp"
)

const wrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"

// badKey says why the store cannot have a key; "" if it can.
func badKey(key []byte) string {
	if len(key) == 0 || len(key) > kvs.MaxKeyLen {
		return fmt.Sprintf("ERR a key of %d bytes: want 1 to %d", len(key), kvs.MaxKeyLen)
	}
	return ""
}

// badValue returns badKey for a value. What begins as a hash does is one to every reader.
func badValue(value []byte) string {
	switch {
	case len(value) > kvs.MaxValueLen:
		return fmt.Sprintf("ERR a value of %d bytes: want at most %d", len(value), kvs.MaxValueLen)
	case isHash(value):
		return "ERR the value begins with the mark of a hash"
	}
	return ""
}

// refuse answers a command whose arguments are wrong. As in Redis, it has been executed.
func (c *conn) refuse(row *row, why string) {
	c.apply()
	c.fail(why)
	c.done(row, true)
}

// keys returns the commands with one operation for each argument, which is a key.
func keys(kind kvs.Kind) func(*conn, *row, int) {
	return func(c *conn, row *row, args int) {
		for i := 1; i < args; i++ {
			if why := badKey(c.commands.Arg(i)); why != "" {
				c.refuse(row, why)
				return
			}
		}
		c.wait(row, args-1)
		for i := 1; i < args; i++ {
			c.op(kvs.Op{Kind: kind, Key: c.commands.Arg(i)})
		}
	}
}

// set is SET key value [GET].
func set(c *conn, row *row, args int) {
	kind := kvs.Put
	for i := 3; i < args; i++ {
		if !c.is(i, "get") {
			c.refuse(row, fmt.Sprintf("ERR SET has the option GET alone, not %.32q", c.commands.Arg(i)))
			return
		}
		kind, row = kvs.ReadModifyWrite, &setGet
	}
	key, value := c.commands.Arg(1), c.commands.Arg(2)
	why := badKey(key)
	if why == "" {
		why = badValue(value)
	}
	if why != "" {
		c.refuse(row, why)
		return
	}
	c.wait(row, 1)
	c.op(kvs.Op{Kind: kind, Key: key, Value: value})
}

func mset(c *conn, row *row, args int) {
	why := ""
	if args%2 == 0 {
		why = "ERR wrong number of arguments for 'mset' command"
	}
	for i := 1; i+1 < args && why == ""; i += 2 {
		if why = badKey(c.commands.Arg(i)); why == "" {
			why = badValue(c.commands.Arg(i + 1))
		}
	}
	if why != "" {
		c.refuse(row, why)
		return
	}
	c.wait(row, args/2)
	for i := 1; i < args; i += 2 {
		c.op(kvs.Op{Kind: kvs.Put, Key: c.commands.Arg(i), Value: c.commands.Arg(i + 1)})
	}
}

// wait adds a command of n operations, which the caller adds next.
func (c *conn) wait(row *row, n int) {
	c.pending = append(c.pending, pending{row: row, left: n, all: n})
}

func (c *conn) op(op kvs.Op) {
	if len(c.ops) == most {
		c.apply()
	}
	c.ops = append(c.ops, op)
	c.writes = c.writes || op.Kind != kvs.Get
}

// apply applies the operations and answers their commands.
func (c *conn) apply() {
	if len(c.ops) == 0 || c.err != nil {
		return
	}
	switch h := &c.gateway.hashes; {
	case !c.writes:
		c.applyNow(c.ops)
	case h.none():
		c.applyNow(c.ops)
		h.plain.RUnlock()
	default:
		c.applyBeside(c.ops)
	}
	c.ops, c.writes = c.ops[:0], false
	if c.first == len(c.pending) {
		c.pending, c.first = c.pending[:0], 0
	}
	if len(c.out.buf) > flushAt && c.err == nil {
		c.publish()
		c.err = c.out.flush()
	}
}

// applyNow applies operations. After an error their effect is unknown, and the
// connection ends without an answer.
func (c *conn) applyNow(ops []kvs.Op) {
	if c.err = c.service.Apply(ops, &c.reply); c.err == nil {
		c.answer(len(ops))
	}
	c.reply.Free()
}

// answer appends the answers of n operations.
func (c *conn) answer(n int) {
	for results := c.reply.Results(); n > 0; n-- {
		if c.result, c.err = results.Next(); c.err != nil {
			return
		}
		p := &c.pending[c.first]
		failures := c.failures
		p.row.answer(c, p, &c.result)
		if p.left--; p.left == 0 {
			c.done(p.row, c.failures != failures)
			c.first++
		}
	}
}

// read counts a key that was read.
func (c *conn) read(found bool) {
	if found {
		c.hits++
	} else {
		c.misses++
	}
}

func (c *conn) bulk(value []byte) { c.out.buf = resp.AppendBulk(c.out.buf, value) }

func (c *conn) null() { c.out.buf = resp.AppendNull(c.out.buf, c.version) }

func (c *conn) ok() { c.out.buf = append(c.out.buf, "+OK\r\n"...) }

func (c *conn) integer(n int) { c.out.buf = resp.AppendHead(c.out.buf, resp.Integer, int64(n)) }

func (c *conn) array(n int) { c.out.buf = resp.AppendHead(c.out.buf, resp.Array, int64(n)) }

// fail answers an error, whose first word is its code, and counts it.
func (c *conn) fail(text string) {
	c.failures++
	c.out.buf = resp.AppendLine(c.out.buf, resp.Error, text)
	code, _, _ := strings.Cut(text, " ")
	c.gateway.mu.Lock()
	defer c.gateway.mu.Unlock()
	c.gateway.errors[code]++
}

func (c *conn) answerOK(p *pending, _ *kvs.Result) {
	if p.left == 1 {
		c.ok()
	}
}

func (c *conn) answerGet(_ *pending, r *kvs.Result) {
	switch c.read(r.Found); {
	case !r.Found:
		c.null()
	case isHash(r.Value):
		c.fail(wrongType)
	default:
		c.bulk(r.Value)
	}
}

func (c *conn) answerMGet(p *pending, r *kvs.Result) {
	if p.left == p.all {
		c.array(p.all)
	}
	if c.read(r.Found); r.Found && !isHash(r.Value) {
		c.bulk(r.Value)
	} else {
		c.null()
	}
}

func (c *conn) answerDel(p *pending, r *kvs.Result) { c.sum(p, !r.Read) }

func (c *conn) answerExists(p *pending, r *kvs.Result) {
	c.read(r.Found)
	c.sum(p, r.Found)
}

func (c *conn) sum(p *pending, one bool) {
	if one {
		p.sum++
	}
	if p.left == 1 {
		c.integer(p.sum)
	}
}

func (c *conn) answerStrlen(_ *pending, r *kvs.Result) {
	if c.read(r.Found); isHash(r.Value) {
		c.fail(wrongType)
	} else {
		c.integer(len(r.Value))
	}
}

func (c *conn) answerType(_ *pending, r *kvs.Result) {
	kind := "string"
	switch c.read(r.Found); {
	case !r.Found:
		kind = "none"
	case isHash(r.Value):
		kind = "hash"
	}
	c.simple(kind)
}
