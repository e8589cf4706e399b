package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"kvlab/metrics"
)

type op = metrics.HistoryOp

// always is a time before all others.
const always = math.MinInt64

// cell is a value's write and the two relevant operations among those that read it.
type cell struct {
	value metrics.Value
	write op
	first op   // the write or read with the earliest return
	last  op   // the write or read with the latest call
	next  *op  // the read-modify-write that replaced the value; nil if none is known
	tied  bool // the write is a read-modify-write whose read is known
}

func (c *cell) add(o op) {
	if o.ReturnNs < c.first.ReturnNs {
		c.first = o
	}
	if o.CallNs > c.last.CallNs {
		c.last = o
	}
}

// ops returns the cell's relevant operations, each once.
func (c *cell) ops() []op {
	ops := []op{c.write}
	for _, o := range []op{c.first, c.last} {
		if !slices.ContainsFunc(ops, func(p op) bool { return same(o, p) }) {
			ops = append(ops, o)
		}
	}
	return ops
}

// same reports whether two operations are equal.
func same(o, p op) bool {
	if (o.Read == nil) != (p.Read == nil) || o.Read != nil && *o.Read != *p.Read {
		return false
	}
	o.Read, p.Read = nil, nil
	return o == p
}

// block is a sequence of cells with no other cell between them.
type block struct {
	cells       []*cell
	first, last int64 // the earliest return and the latest call
}

func (b *block) ops() []op {
	var ops []op
	for _, c := range b.cells {
		for _, o := range c.ops() {
			if !slices.ContainsFunc(ops[max(0, len(ops)-6):], func(p op) bool { return same(o, p) }) {
				ops = append(ops, o) // a read-modify-write is in two cells
			}
		}
	}
	return ops
}

// arrange sorts a history's operations into blocks that are each in order.
func arrange(h metrics.History) ([]*block, *contradiction) {
	cells, found := gather(h)
	if found != nil {
		return nil, found
	}
	values := make([]metrics.Value, 0, len(cells))
	for v := range cells {
		values = append(values, v)
	}
	slices.Sort(values) // so that the same history gives the same answer
	var blocks []*block
	tied := 0
	for _, v := range values {
		if cells[v].tied {
			tied++
			continue
		}
		b, found := chain(cells, cells[v])
		if found != nil {
			return nil, found
		}
		tied -= len(b.cells) - 1
		blocks = append(blocks, b)
	}
	if tied > 0 {
		return nil, circle(cells, values)
	}
	return blocks, nil
}

// circle returns the contradiction of a cycle of read-modify-writes: each read what
// another wrote.
func circle(cells map[metrics.Value]*cell, values []metrics.Value) *contradiction {
	inChain := make(map[metrics.Value]bool)
	for _, v := range values {
		if !cells[v].tied {
			for c := cells[v]; ; c = cells[c.next.Wrote] {
				inChain[c.value] = true
				if c.next == nil {
					break
				}
			}
		}
	}
	var part []op
	for _, v := range values {
		if !inChain[v] {
			part = append(part, cells[v].write)
		}
	}
	return &contradiction{"read-modify-writes that each read what another of them wrote", part}
}

// gather makes a cell for every value that was written or read.
func gather(h metrics.History) (map[metrics.Value]*cell, *contradiction) {
	cells := make(map[metrics.Value]*cell)
	for _, o := range h.Ops {
		if o.Wrote == metrics.NoValue {
			continue
		}
		if c := cells[o.Wrote]; c != nil {
			return nil, &contradiction{fmt.Sprintf("%s was written twice", o.Wrote), []op{c.write, o}}
		}
		cells[o.Wrote] = &cell{value: o.Wrote, write: o, first: o, last: o, tied: o.Read != nil}
	}
	spans := newWriteRanges(h.Spans)
	for i := range h.Ops {
		o := &h.Ops[i]
		if o.Read == nil {
			continue
		}
		c := cells[*o.Read]
		if c == nil {
			write, ok := spans.write(*o.Read)
			if !ok {
				return nil, &contradiction{fmt.Sprintf("%s was read, which was not written", *o.Read), []op{*o}}
			}
			c = &cell{value: *o.Read, write: write, first: write, last: write}
			cells[*o.Read] = c
		}
		if o.ReturnNs < c.write.CallNs {
			return nil, &contradiction{fmt.Sprintf("%s was read before it was written", *o.Read), []op{c.write, *o}}
		}
		c.add(*o)
		if o.Wrote == metrics.NoValue {
			continue
		}
		if c.next != nil {
			return nil, &contradiction{fmt.Sprintf("two read-modify-writes replaced %s", *o.Read), []op{c.write, *c.next, *o}}
		}
		c.next = o
	}
	return cells, nil
}

// chain returns the block that begins with a cell.
func chain(cells map[metrics.Value]*cell, c *cell) (*block, *contradiction) {
	b := &block{first: metrics.Never, last: always}
	latest := c
	for ; ; c = cells[c.next.Wrote] {
		b.cells = append(b.cells, c)
		if latest.last.CallNs > c.first.ReturnNs && latest != c {
			return nil, &contradiction{
				fmt.Sprintf("%s was there after %s, which replaced it", latest.value, c.value), b.ops(),
			}
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
func conflict(blocks []*block) *contradiction {
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
				return &contradiction{
					fmt.Sprintf("%s and %s were each there after the other", a.cells[0].value, b.cells[0].value),
					append(a.ops(), b.ops()...),
				}
			}
		}
	}
	return nil
}

// sampled is the number of operations of a correct history that porcupine checks. It
// checks this many in negligible time, however they overlap.
const sampled = 10

// sample returns the operations of the first few blocks.
func sample(blocks []*block) []op {
	var part []op
	for _, b := range blocks {
		ops := b.ops()
		if len(part)+len(ops) > sampled {
			break
		}
		part = append(part, ops...)
	}
	return part
}
