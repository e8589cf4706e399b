package history

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"kvlab/metrics"
)

type op = metrics.HistoryOp

// always is a time before all others.
const always = math.MinInt64

// cell is a value's write and the relevant operations among those that read it.
type cell struct {
	write  *op
	first  *op  // the write or read with the earliest return
	last   *op  // the write or read with the latest call
	next   *op  // the read-modify-write that replaced the value; nil if none is known
	placed bool // it is in a block
}

func (c *cell) add(o *op) {
	if o.ReturnNs < c.first.ReturnNs {
		c.first = o
	}
	if o.CallNs > c.last.CallNs {
		c.last = o
	}
}

// block is a sequence of cells with no other cell between them.
type block struct {
	cells       []*cell
	first, last int64 // the earliest return and the latest call
}

// ops returns the block's relevant operations, each once: a read-modify-write is in two
// cells.
func (b *block) ops() (ops []op) {
	seen := make(map[*op]bool)
	for _, c := range b.cells {
		for _, o := range []*op{c.write, c.first, c.last} {
			if !seen[o] {
				seen[o] = true
				ops = append(ops, *o)
			}
		}
	}
	return ops
}

// illegal returns the result of operations that no order explains.
func illegal(part []op, why string, values ...any) *Result {
	return &Result{Outcome: Illegal, Why: fmt.Sprintf(why, values...), Part: part}
}

// arrange sorts a history's operations into blocks that are each in order.
func arrange(h metrics.History) (blocks []*block, found *Result) {
	cells, found := gather(h)
	if found != nil {
		return nil, found
	}
	values := slices.Sorted(maps.Keys(cells)) // so that the same history gives the same answer
	for _, v := range values {
		if readsValue(h, cells[v].write) {
			continue // it follows another cell
		}
		b, found := chain(cells, cells[v])
		if found != nil {
			return nil, found
		}
		blocks = append(blocks, b)
	}
	var circle []op
	for _, v := range values {
		if !cells[v].placed {
			circle = append(circle, *cells[v].write)
		}
	}
	if circle != nil {
		return nil, illegal(circle, "read-modify-writes that each read what another of them wrote")
	}
	return blocks, nil
}

// gather makes a cell for every value that was written or read.
func gather(h metrics.History) (map[metrics.WriteID]*cell, *Result) {
	cells := make(map[metrics.WriteID]*cell)
	for i := range h.Ops {
		o := &h.Ops[i]
		if o.Wrote == metrics.NoWrite {
			continue
		}
		if c := cells[o.Wrote]; c != nil {
			return nil, illegal([]op{*c.write, *o}, "%s was written twice", o.Wrote)
		}
		cells[o.Wrote] = &cell{write: o, first: o, last: o}
	}
	for i := range h.Ops {
		o := &h.Ops[i]
		if !readsValue(h, o) {
			continue
		}
		c := cells[*o.Read]
		if c == nil {
			write, ok := unrecorded(*o.Read, h.Spans)
			if !ok {
				return nil, illegal([]op{*o}, "%s was read, which was not written", *o.Read)
			}
			c = &cell{write: &write, first: &write, last: &write}
			cells[*o.Read] = c
		}
		if o.ReturnNs < c.write.CallNs {
			return nil, illegal([]op{*c.write, *o}, "%s was read before it was written", *o.Read)
		}
		c.add(o)
		if o.Wrote == metrics.NoWrite {
			continue
		}
		if c.next != nil {
			return nil, illegal([]op{*c.write, *c.next, *o}, "two read-modify-writes replaced %s", *o.Read)
		}
		c.next = o
	}
	return cells, nil
}

// unrecorded returns the write of a value that is not in the history, over its possible
// times by its writer's span; false if such a write would be in the history.
func unrecorded(v metrics.WriteID, spans []metrics.WorkerSpan) (op, bool) {
	at := slices.IndexFunc(spans, func(s metrics.WorkerSpan) bool { return s.Client == v.Client() && s.Worker == v.Worker() })
	o := op{Client: v.Client(), Worker: v.Worker(), Wrote: v, CallNs: always, ReturnNs: metrics.Never}
	switch {
	case v == metrics.NoWrite:
		o.ReturnNs = always // where nothing is ever deleted
	case at < 0: // it may have happened at any time
	case v.Version() <= spans[at].First:
		o.ReturnNs = spans[at].BegunNs
	case v.Version() > spans[at].Last:
		o.CallNs = spans[at].EndedNs
	default:
		return op{}, false
	}
	return o, true
}

// chain returns the block that begins with a cell.
func chain(cells map[metrics.WriteID]*cell, c *cell) (*block, *Result) {
	b := &block{first: metrics.Never, last: always}
	latest := c
	for ; ; c = cells[c.next.Wrote] {
		b.cells, c.placed = append(b.cells, c), true
		if latest.last.CallNs > c.first.ReturnNs && latest != c {
			return nil, illegal(b.ops(), "%s was there after %s, which replaced it", latest.write.Wrote, c.write.Wrote)
		}
		if c.last.CallNs > latest.last.CallNs {
			latest = c
		}
		b.first, b.last = min(b.first, c.first.ReturnNs), max(b.last, c.last.CallNs)
		if c.next == nil {
			return b, nil
		}
	}
}

// conflict finds two blocks that must each precede the other. In the order of first
// returns, the blocks that must precede a block form a prefix. If any of these must
// also follow it, so must the one or two with the latest calls.
func conflict(blocks []*block) *Result {
	slices.SortStableFunc(blocks, func(a, b *block) int { return cmp.Compare(a.first, b.first) })
	best := make([][2]*block, len(blocks)+1) // of the first i blocks, the two with the latest calls
	for i, b := range blocks {
		best[i+1] = best[i]
		switch top := &best[i+1]; {
		case top[0] == nil || b.last > top[0].last:
			top[0], top[1] = b, top[0]
		case top[1] == nil || b.last > top[1].last:
			top[1] = b
		}
	}
	for _, a := range blocks {
		n, _ := slices.BinarySearchFunc(blocks, a.last, func(b *block, last int64) int { return cmp.Compare(b.first, last) })
		for _, b := range best[n] {
			if b != nil && b != a && a.first < b.last {
				return illegal(append(a.ops(), b.ops()...), "%s and %s were each there after the other", a.cells[0].write.Wrote, b.cells[0].write.Wrote)
			}
		}
	}
	return nil
}
