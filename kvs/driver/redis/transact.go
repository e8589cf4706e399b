package redis

import (
	"fmt"
	"slices"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/pipeline"
	"kvlab/kvs/resp"
	"kvlab/kvs/txn"
)

// transactional is the driver of one Redis, which has transactions.
type transactional struct{ *pipeline.Driver }

// Transactor returns what executes the transactions of a worker, which shares its connection
// with no other.
func (transactional) Transactor(conns []driver.Conn) (driver.Transactor, error) {
	return &transactor{conn: conns[0].(*pipeline.Conn)}, nil
}

// transactor executes transactions one after another: a connection watches the keys of one at
// a time. One that reads and writes is WATCH and GETs, and then MULTI, the writes and EXEC,
// which Redis refuses if somebody has written a watched key since. Others are MULTI to EXEC
// alone (https://redis.io/docs/latest/develop/using-commands/transactions/).
type transactor struct {
	conn   *pipeline.Conn
	call   kvs.Call
	out    []byte
	values []byte // what the round has read

	attempt *driver.Attempt
	ops     []kvs.Op
	results []driver.Result
	queued  []int // the operations between MULTI and EXEC
	wanted  []expected
	parsed  int // of wanted
}

// expected is a reply that is to come: a text, the reply to EXEC, or that to an operation.
type expected struct {
	text string
	exec bool
	op   int
}

// Transact executes a round.
func (t *transactor) Transact(r *driver.Transactions) error {
	t.values = t.values[:0]
	r.Results = slices.Grow(r.Results[:0], len(r.Ops))[:len(r.Ops)]
	r.Costs = append(r.Costs[:0], driver.Cost{})
	for i := range r.Attempts {
		a := &r.Attempts[i]
		t.attempt, t.ops, t.results = a, r.Ops[a.First:a.End], r.Results[a.First:a.End]
		clear(t.results)
		a.Outcome, a.Why, a.Sent = txn.IsCommitted, kvs.Done, time.Now()
		if err := t.execute(&r.Costs[0]); err != nil {
			return &driver.ServerError{Err: err}
		}
		a.Came = time.Now()
	}
	return nil
}

// execute executes an attempt.
func (t *transactor) execute(cost *driver.Cost) error {
	reads := slices.ContainsFunc(t.ops, func(op kvs.Op) bool { return op.Kind.Reads() })
	writes := slices.ContainsFunc(t.ops, func(op kvs.Op) bool { return op.Kind != kvs.Get })
	if reads && writes {
		if err := t.watch(cost); err != nil {
			return err
		}
	}
	t.out, t.wanted, t.queued = resp.AppendCommand(t.out[:0], "MULTI"), append(t.wanted[:0], expected{text: "OK"}), t.queued[:0]
	for i, op := range t.ops {
		switch {
		case op.Kind == kvs.Get && writes: // it is read
			continue
		case op.Kind == kvs.ReadModifyWrite:
			op.Kind = kvs.Put // likewise
		}
		t.out = resp.AppendOp(t.out, &op, "")
		t.wanted, t.queued = append(t.wanted, expected{text: "QUEUED"}), append(t.queued, i)
	}
	t.out, t.wanted = resp.AppendCommand(t.out, "EXEC"), append(t.wanted, expected{exec: true})
	return t.exchange(cost)
}

// watch watches and reads the keys that an attempt reads before it writes them.
func (t *transactor) watch(cost *driver.Cost) error {
	words, gets := []string{"WATCH"}, []byte(nil)
	t.wanted = append(t.wanted[:0], expected{text: "OK"})
	for i := range t.ops {
		op, result := &t.ops[i], &t.results[i]
		if !op.Kind.Reads() {
			continue
		}
		if own := txn.OwnWrite(t.ops[:i], op.Key); own != nil {
			result.Read, result.Found, result.Value = true, own.Kind != kvs.Delete, own.Value
			continue
		}
		words = append(words, string(op.Key))
		gets = resp.AppendOp(gets, &kvs.Op{Kind: kvs.Get, Key: op.Key}, "")
		t.wanted = append(t.wanted, expected{op: i})
	}
	if len(words) == 1 {
		return nil
	}
	t.out = append(resp.AppendCommand(t.out[:0], words...), gets...)
	return t.exchange(cost)
}

// exchange sends what is in out, and takes the wanted answers.
func (t *transactor) exchange(cost *driver.Cost) error {
	t.parsed = 0
	began := time.Now()
	err := t.conn.Exchange(&t.call, t.out, t.parse)
	cost.Calls++
	cost.Sent, cost.Received = cost.Sent+uint64(t.call.Sent), cost.Received+uint64(t.call.Received)
	cost.Took += time.Since(began)
	return err
}

// parse is a pipeline.Parser.
func (t *transactor) parse(buf []byte) (size int, done bool, err error) {
	for t.parsed < len(t.wanted) {
		v, length, err := resp.Parse(buf[size:], kvs.MaxValueLen)
		if length == 0 {
			return size, false, err
		}
		size += length
		a := t.wanted[t.parsed]
		t.parsed++
		if err := t.take(a, v); err != nil {
			return size, false, err
		}
	}
	return size, true, nil
}

// take takes an answer.
func (t *transactor) take(a expected, v resp.Value) error {
	switch op := &t.ops[a.op]; {
	case v.Type == resp.Error:
		return fmt.Errorf("the store answers a transaction with %q", v.Text)
	case v.Type == resp.Simple && string(v.Text) == a.text:
		return nil
	case a.exec && v.Type == resp.Array && v.N == int64(len(t.queued)):
		for _, i := range t.queued {
			t.wanted = append(t.wanted, t.ofQueued(i))
		}
		return nil
	case a.exec && v.Null():
		t.attempt.Outcome, t.attempt.Why = txn.IsAborted, kvs.Conflict
		return nil
	case a.text != "" || a.exec:
	case v.Type == resp.Bulk && op.Kind.Reads():
		result := &t.results[a.op]
		result.Read = true
		if result.Found = !v.Null(); result.Found {
			at := len(t.values)
			t.values = append(t.values, v.Text...) // what is in its old memory stays there
			result.Value = t.values[at:len(t.values):len(t.values)]
		}
		return nil
	case v.Type == resp.Integer && op.Kind == kvs.Delete && v.N <= 1:
		t.results[a.op].Read = v.N == 0
		return nil
	}
	return fmt.Errorf("%w reply to a transaction: %v", kvs.ErrMalformed, v)
}

// ofQueued returns what answers a queued operation.
func (t *transactor) ofQueued(i int) expected {
	if t.ops[i].Kind.Writes() {
		return expected{text: "OK"}
	}
	return expected{op: i}
}
