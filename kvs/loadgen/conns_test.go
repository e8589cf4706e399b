package loadgen

import (
	"bytes"
	"math/rand/v2"

	"kvlab/kvs"
	"kvlab/kvs/driver"
)

// ownView is a conn that shows a worker the values that it has first seen or written itself,
// until the audit, once in so many reads.
type ownView struct {
	driver.Conn
	w       *worker
	seen    map[string][]byte
	n, each int
}

func (c *ownView) Wait(call *kvs.Call) error {
	if err := c.Conn.Wait(call); err != nil || c.w.audited == nil {
		return err
	}
	ops, results := decoded(call.Batch), taken(call.Reply)
	for i, op := range ops {
		key, r := string(op.Key), &results[i]
		switch {
		case op.Kind == kvs.Put:
			c.seen[key] = bytes.Clone(op.Value)
			continue
		case !r.Found:
			continue
		case c.seen[key] == nil:
			c.seen[key] = r.Value
		}
		if c.n++; c.n%c.each == 0 {
			r.Value = c.seen[key]
		}
	}
	call.Reply.Reset()
	answer(ops, results, call.Reply)
	return nil
}

// seesOwn makes each worker's conns such views.
func seesOwn(each int) func(*Generator) {
	return everyConn(func(w *worker, c driver.Conn) driver.Conn {
		return &ownView{Conn: c, w: w, seen: make(map[string][]byte), each: each}
	})
}

// decoded returns a batch's operations; they lie in the batch.
func decoded(b *kvs.Batch) []kvs.Op {
	all := make([]kvs.Op, b.Len())
	cursor := b.Ops()
	n, _ := cursor.Next(all)
	return all[:n]
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

// anywhere is a router that chooses at random.
type anywhere struct {
	servers int
	random  *rand.Rand
}

func (a anywhere) Server([]byte, uint64) int { return a.random.IntN(a.servers) }

// randomly makes each worker's router choose at random.
func randomly(g *Generator) {
	for _, w := range g.workers {
		w.router = anywhere{g.config.Servers(), rand.New(rand.NewPCG(g.config.Workload.Seed, uint64(w.id)))}
	}
}
