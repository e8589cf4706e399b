package loadgen

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/workload"
)

// changed is a conn that sends other operations than it was given, and hides that in its
// results.
type changed struct {
	driver.Conn
	// forward is what the server gets in place of an operation; false for nothing.
	forward func(op kvs.Op) (kvs.Op, bool)
	// restore changes a result that came back for an operation; nil for none.
	restore func(op kvs.Op, r *kvs.Result)
	// twice is how often a call is sent again: 10 for every tenth; 0 for none.
	twice int

	calls int
	batch kvs.Batch
	reply kvs.Reply
	inner kvs.Call
	sent  []kvs.Op // by operation of the outer batch; no key: not sent
}

func (c *changed) Send(call *kvs.Call) {
	c.batch.Reset()
	c.sent = c.sent[:0]
	for _, op := range ops(call.Batch) {
		given, ok := op, true
		if c.forward != nil {
			given, ok = c.forward(op)
		}
		switch {
		case !ok:
			given = kvs.Op{}
		case given.Kind.Writes():
			c.batch.Append(given.Kind, given.Key, given.Value)
		default:
			c.batch.Get(given.Key)
		}
		c.sent = append(c.sent, given)
	}
	c.inner = kvs.Call{Batch: &c.batch, Reply: &c.reply}
	if c.batch.Len() > 0 {
		c.Conn.Send(&c.inner)
	}
}

func (c *changed) Wait(call *kvs.Call) error {
	if err := c.wait(); err != nil {
		return err
	}
	results := c.reply.Results()
	call.Reply.Reset()
	for i, op := range ops(call.Batch) {
		r := kvs.Result{Read: op.Kind != kvs.Put, Found: op.Kind != kvs.Put}
		if c.sent[i].Key != nil {
			r, _ = results.Next()
		}
		if op.Kind != kvs.Put && (c.sent[i].Key == nil || c.sent[i].Kind == kvs.Put) {
			r = kvs.Result{Read: true, Found: true, Value: newValue(100, route.Hash(op.Key), value.NewWriter(0, 0))}
		}
		if c.restore != nil {
			c.restore(op, &r)
		}
		switch {
		case op.Kind == kvs.Put:
			call.Reply.Stored()
		case r.Found:
			call.Reply.Found(r.Value)
		default:
			call.Reply.Missing()
		}
	}
	if c.batch.Len() > 0 {
		c.reply.Free()
	}
	return nil
}

// wait waits for the reply, and for that of the call that is sent again.
func (c *changed) wait() error {
	if c.batch.Len() == 0 {
		return nil
	}
	err := c.Conn.Wait(&c.inner)
	if c.calls++; err != nil || c.twice == 0 || c.calls%c.twice != 0 {
		return err
	}
	c.reply.Free()
	c.Conn.Send(&c.inner)
	return c.Conn.Wait(&c.inner)
}

// ops returns a batch's operations; they lie in the batch.
func ops(b *kvs.Batch) []kvs.Op {
	all := make([]kvs.Op, b.Len())
	cursor := b.Ops()
	_, _ = cursor.Next(all)
	return all
}

// everyConn wraps each worker's conns.
func everyConn(wrap func(w *worker, c driver.Conn) driver.Conn) func(*Generator) {
	return func(g *Generator) {
		for _, w := range g.workers {
			wrapped := make([]driver.Conn, len(w.conns))
			for i, c := range w.conns {
				wrapped[i] = wrap(w, c)
			}
			w.conns = wrapped
		}
	}
}

// change makes each worker's conns changed ones.
func change(set func(w *worker, c *changed)) func(*Generator) {
	return everyConn(func(w *worker, inner driver.Conn) driver.Conn {
		c := &changed{Conn: inner}
		set(w, c)
		return c
	})
}

// dropping draws each 500th operation and does not send it, as if a queue were full.
func dropping(w *worker, c *changed) {
	n := 0
	c.forward = func(op kvs.Op) (kvs.Op, bool) {
		if n++; n%500 == 0 {
			nextOp(w.source)
		}
		return op, true
	}
}

// readsAsWrites sends reads as writes.
func readsAsWrites(w *worker, c *changed) {
	c.forward = func(op kvs.Op) (kvs.Op, bool) {
		op.Kind, op.Value = kvs.Put, newValue(100, route.Hash(op.Key), value.NewWriter(0, w.id))
		return op, true
	}
}

// countedUnsent does not send each 100th operation.
func countedUnsent(_ *worker, c *changed) {
	n := 0
	c.forward = func(op kvs.Op) (kvs.Op, bool) { n++; return op, n%100 != 0 }
}

// bodies writes values with changed bodies, and restores the right ones when they are
// read.
func bodies(spoil func(body []byte)) func(*Generator) {
	return change(func(_ *worker, c *changed) {
		c.forward = func(op kvs.Op) (kvs.Op, bool) {
			if op.Kind.Writes() {
				op.Value = bytes.Clone(op.Value)
				spoil(op.Value[value.HeaderLen:])
			}
			return op, true
		}
		c.restore = func(op kvs.Op, r *kvs.Result) {
			if r.Found {
				v := make([]byte, len(r.Value))
				value.Fixed.Put(v, route.Hash(op.Key), value.Writer(binary.LittleEndian.Uint64(r.Value[8:])))
				r.Value = v
			}
		}
	})
}

// cached answers Gets from the values that it has seen, without regard to later writes.
func cached(_ *worker, c *changed) {
	seen := map[string]bool{}
	c.forward = func(op kvs.Op) (kvs.Op, bool) {
		hit := seen[string(op.Key)] && op.Kind == kvs.Get
		seen[string(op.Key)] = true
		return op, !hit
	}
}

// otherKeys sends the operations on each record from number 100 on on another one of these that
// is on the same server, popular for unpopular, and hides that.
func otherKeys(w *worker, c *changed) {
	k := newKeys(route.Keys{})
	of := make(map[int][]string) // by server
	for id := range uint64(1000) {
		if key, hash := k.key(id); id >= 100 {
			at := w.router.Server(key, hash)
			of[at] = append(of[at], string(key))
		}
	}
	c.forward = func(op kvs.Op) (kvs.Op, bool) {
		same := of[w.router.Server(op.Key, route.Hash(op.Key))]
		if at, ok := slices.BinarySearch(same, string(op.Key)); ok {
			op.Key = []byte(same[len(same)-1-at])
		}
		return op, true
	}
	c.restore = func(op kvs.Op, r *kvs.Result) {
		if r.Found {
			r.Value = newValue(100, route.Hash(op.Key), value.NewWriter(0, w.id))
		}
	}
}

// ownView shows a worker the values that it has first seen or written itself, until the audit:
// always, or once in so many reads.
func ownView(each int) func(*Generator) {
	return change(func(w *worker, c *changed) {
		seen, n := map[string][]byte{}, 0
		c.forward = func(op kvs.Op) (kvs.Op, bool) {
			if op.Kind == kvs.Put {
				seen[string(op.Key)] = bytes.Clone(op.Value)
			}
			return op, true
		}
		c.restore = func(op kvs.Op, r *kvs.Result) {
			if !r.Found || w.audited == nil {
				return
			}
			if seen[string(op.Key)] == nil {
				seen[string(op.Key)] = bytes.Clone(r.Value)
			}
			if n++; n%each == 0 {
				r.Value = seen[string(op.Key)]
			}
		}
	})
}

// sources gives the workers others' sources.
func sources(change func(c *workload.Config), worker func(id int) int) func(*Generator) {
	return func(g *Generator) {
		c := g.config.Workload
		change(&c)
		plan, err := workload.New(c)
		if err != nil {
			panic(err)
		}
		for _, w := range g.workers {
			w.source = plan.Source(g.config.place(worker(w.id)))
		}
	}
}

func itself(id int) int { return id }

// routers gives each worker a router.
func routers(router func(g *Generator, w *worker) route.Router) func(*Generator) {
	return func(g *Generator) {
		for _, w := range g.workers {
			w.router = router(g, w)
		}
	}
}

// anywhere is a router that chooses at random.
type anywhere struct {
	servers int
	random  *rand.Rand
}

func (a anywhere) Server([]byte, uint64) int { return a.random.IntN(a.servers) }

func randomly(g *Generator, w *worker) route.Router {
	return anywhere{g.config.Servers(), rand.New(rand.NewPCG(g.config.Workload.Seed, uint64(w.id)))}
}

// seeded is a router of two servers with a different seed in each worker.
type seeded struct {
	route.Router
	seed uint64
}

func (s seeded) Server(key []byte, hash uint64) int {
	return int((hash ^ s.seed) * 0xa0761d6478bd642f >> 63)
}
