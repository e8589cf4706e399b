package lab

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/rpc"
	"reflect"
	"sync/atomic"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/txn"
	"kvlab/kvs/wire"
)

// transactor executes the transactions of one worker over its connections. It has several
// attempts under way, and of each at most one call to a server: the course's client calls a
// server once at a time for a transaction, and servers count on it.
type transactor struct {
	form    *Form
	conns   []*conn
	ids     *atomic.Uint64 // the last attempt's number, of all workers
	mask    uint64         // of the numbers that the servers' fields hold
	worker  uint64         // of the field client
	timeout time.Duration
	done    chan *rpc.Call
	flights map[*rpc.Call]flight
	free    []*try
	round   *driver.Transactions
}

// flight is a call that has no reply yet.
type flight struct {
	try    *try
	server int
	remote *remote
	reply  reflect.Value // points to one of the remote's type
	again  bool          // it is the second call of an operation
	op     int           // of the round; -1 if it is no operation's
	sent   time.Time
}

// try is an attempt under way.
type try struct {
	attempt int // of the round
	number  uint64
	phase   phase
	calls   []call // of its operations
	next    int    // of calls
	lead    int    // the server of the first
	touched []bool // the servers that got a call
	made    []reflect.Value
	waiting int // calls without a reply

	refused bool
	err     error // a server's, which is no refusal
	told    int   // replies to commits that acknowledge it
	denied  int   // that refuse it
	lost    int   // errors
}

// call is a Get or a Put of an operation.
type call struct {
	op, server int
	put        bool
}

// phase is what an attempt does next.
type phase uint8

const (
	begins phase = iota
	works
	prepares
	commits
	aborts
	over
)

// newTransactor returns the transactor over connections, one to each server.
func newTransactor(f *Form, conns []*conn, ids *atomic.Uint64, timeout time.Duration) *transactor {
	t := &transactor{form: f, conns: conns, ids: ids, mask: wide, worker: uint64(rand.Int32()), timeout: timeout,
		done: make(chan *rpc.Call, inFlight*len(conns)), flights: make(map[*rpc.Call]flight)}
	for _, c := range conns {
		t.mask = min(t.mask, c.mask)
	}
	for range inFlight {
		t.free = append(t.free, &try{touched: make([]bool, len(conns)), made: make([]reflect.Value, len(conns))})
	}
	return t
}

// Transact executes a round.
func (t *transactor) Transact(round *driver.Transactions) error {
	t.round = round
	round.Results = append(round.Results[:0], make([]driver.Result, len(round.Ops))...)
	round.Costs = append(round.Costs[:0], make([]driver.Cost, len(t.conns))...)
	late := time.AfterFunc(t.timeout, func() { t.end(fmt.Errorf("%w: no reply within %v", wire.ErrTimeout, t.timeout)) })
	defer late.Stop()
	var failed error
	for next := 0; ; {
		for ; failed == nil && next < len(round.Attempts) && len(t.free) > 0; next++ {
			failed = t.start(next)
		}
		if len(t.flights) == 0 {
			break
		}
		if err := t.take(late); failed == nil {
			failed = err
		}
	}
	for server, c := range t.conns {
		sent, received := c.codec.Take()
		round.Costs[server].Sent, round.Costs[server].Received = uint64(sent), uint64(received)
	}
	return failed
}

// end ends all connections: calls in flight fail.
func (t *transactor) end(reason error) {
	for _, c := range t.conns {
		c.end(reason)
	}
}

// start begins an attempt of the round.
func (t *transactor) start(attempt int) error {
	a := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	*a = try{attempt: attempt, touched: a.touched, made: a.made, calls: a.calls[:0]}
	clear(a.touched)
	for a.number == 0 {
		a.number = t.ids.Add(1) & t.mask
	}
	of := &t.round.Attempts[attempt]
	for i := of.First; i < of.End; i++ {
		kind, server := t.round.Ops[i].Kind, int(t.round.Places[i])
		if kind.Reads() {
			a.calls = append(a.calls, call{i, server, false})
		}
		if kind.Writes() {
			a.calls = append(a.calls, call{i, server, true})
		}
	}
	a.lead = a.calls[0].server
	of.Sent = time.Now()
	return t.advance(a)
}

// advance sends the next calls of an attempt that waits for none, and sets its outcome when it is
// over. The error is that of a server, for which the attempt was aborted.
func (t *transactor) advance(a *try) error {
	for a.waiting == 0 {
		if (a.refused || a.err != nil) && a.phase < aborts {
			if a.phase == works {
				a.calls = a.calls[:a.next]
			}
			a.phase, a.next = aborts, 0
		}
		switch a.phase {
		case begins:
			t.all(a, begin)
			a.phase = works
		case works:
			if !t.wave(a, false) {
				a.phase, a.next = prepares, 0
			}
		case prepares:
			t.all(a, prepare)
			a.phase = commits
		case commits, aborts:
			decision := commit
			if a.phase == aborts {
				decision = abort
			}
			if t.form.txn.twice == "" {
				t.all(a, decision)
				a.phase = over
			} else if !t.wave(a, true) {
				a.phase = over
			}
		case over:
			return t.over(a)
		}
	}
	return nil
}

// over sets the outcome of an attempt.
func (t *transactor) over(a *try) error {
	of := &t.round.Attempts[a.attempt]
	of.Came, of.Why = time.Now(), kvs.Done
	switch {
	case a.refused || a.err != nil || a.denied > 0 && a.told+a.lost == 0:
		of.Outcome, of.Why = txn.IsAborted, kvs.Conflict
	case a.denied+a.lost > 0:
		of.Outcome = txn.IsUnknown
	default:
		of.Outcome = txn.IsCommitted
	}
	t.free = append(t.free, a)
	return a.err
}

// all sends a step's call to the servers of an attempt, or to all: an abort to those that got a
// call.
func (t *transactor) all(a *try, s step) {
	if t.form.txn.methods[s] == "" {
		return
	}
	for server := range t.conns {
		to := t.form.txn.all || a.touched[server]
		for i := range a.calls {
			to = to || s != abort && a.calls[i].server == server
		}
		if to {
			r := t.conns[server].remotes[s]
			setBool(r.lead, server == a.lead)
			t.send(a, flight{try: a, server: server, remote: r, op: -1})
		}
	}
}

// wave sends the next calls of operations, one to a server at most. again says that they are the
// second ones, or the aborts, of servers that take every operation twice. It reports whether
// there was one.
func (t *transactor) wave(a *try, again bool) bool {
	first, calls := a.next, a.calls
	for ; a.next < len(calls); a.next++ {
		c := &calls[a.next]
		for i := first; i < a.next; i++ {
			if calls[i].server == c.server {
				return true
			}
		}
		t.operate(a, c, again)
	}
	return a.next > first
}

// operate sends a call of an operation.
func (t *transactor) operate(a *try, c *call, again bool) {
	s, kind := get, 0
	if c.put {
		s, kind = put, 1
	}
	if a.phase == aborts {
		s = abort
	}
	r, op := t.conns[c.server].remotes[s], &t.round.Ops[c.op]
	r.key.SetString(alias(op.Key))
	if r.value.IsValid() {
		r.value.SetString("")
		if c.put {
			r.value.SetString(alias(op.Value))
		}
	}
	if r.kind.IsValid() {
		r.kind.Set(reflect.ValueOf(t.form.kinds[kind]))
	}
	setBool(r.twice, again)
	if r.update.IsValid() {
		r.update.SetBool(t.updates(a, op.Key))
	}
	t.send(a, flight{try: a, server: c.server, remote: r, again: again, op: c.op})
}

// updates reports whether an attempt writes a key.
func (t *transactor) updates(a *try, key []byte) bool {
	for i := range a.calls {
		if a.calls[i].put && bytes.Equal(t.round.Ops[a.calls[i].op].Key, key) {
			return true
		}
	}
	return false
}

// send sends a call.
func (t *transactor) send(a *try, f flight) {
	c, r := t.conns[f.server], f.remote
	r.identify(a.number, t.round.Age, a.made[f.server])
	if r.client.IsValid() {
		setNumber(r.client, t.worker)
	}
	f.reply, f.sent = r.take(), time.Now()
	t.flights[c.rpc.Go(r.method, r.args.Interface(), f.reply.Interface(), t.done)] = f
	a.touched[f.server] = true
	a.waiting++
	t.round.Costs[f.server].Calls++
}

// take waits for a reply, and goes on with its attempt.
func (t *transactor) take(late *time.Timer) error {
	if len(t.done) == 0 {
		for _, c := range t.conns {
			if err := c.codec.out.Flush(); err != nil {
				c.end(err)
			}
		}
	}
	reply := <-t.done
	late.Reset(t.timeout)
	f := t.flights[reply]
	delete(t.flights, reply)
	f.try.waiting--
	t.round.Costs[f.server].Took += time.Since(f.sent)
	var answered rpc.ServerError
	if err := reply.Error; err != nil && !errors.As(err, &answered) {
		if f.try.waiting == 0 {
			t.free = append(t.free, f.try)
		}
		if err = t.conns[f.server].cause(err); errors.Is(err, wire.ErrTimeout) {
			for _, other := range t.flights { // the oldest call is what took too long
				if other.sent.Before(f.sent) {
					f = other
				}
			}
		}
		t.end(err) // the replies of other servers would come too late
		return &driver.ServerError{Server: f.server, Err: err}
	}
	t.answered(&f, reply.Error)
	f.remote.free = append(f.remote.free, f.reply)
	if f.try.waiting > 0 {
		return nil
	}
	return t.advance(f.try)
}

// answered takes what a server answers.
func (t *transactor) answered(f *flight, err error) {
	a, r := f.try, f.remote
	refused := r.refuses(f.reply, err)
	switch {
	case r.step == abort: // it is aborted anyhow
	case r.step == commit || f.again:
		switch {
		case r.step == commit && refused:
			a.denied++
		case err != nil:
			a.lost++
		default:
			a.told++
		}
	case refused:
		a.refused = true
	case err != nil:
		a.err = &driver.ServerError{Server: f.server, Err: fmt.Errorf("the store answers %s with %w (%s)", r.method, err, driver.NotApplied)}
	case r.made != "":
		a.made[f.server] = reflect.ValueOf(at(f.reply.Elem(), r.made).Interface())
	case r.result != "":
		value := at(f.reply.Elem(), r.result).String()
		t.round.Results[f.op].Result = kvs.Result{Read: true, Found: value != "", Value: bytesOf(value)}
	}
}
