package serial

import (
	"cmp"
	"slices"

	"kvlab/metrics"
)

// Check returns why a history is not strictly serializable; nil if it is, or if nothing
// contradicts it.
func Check(h *History) *Fault {
	c := newChecker(h)
	f := c.resolve()
	if f == nil {
		f = c.perTransaction()
	}
	if f == nil {
		f = c.order()
	}
	if f == nil {
		f = c.cycle()
	}
	if f != nil {
		f.History = *h
	}
	return f
}

// checker is the state of a Check. An attempt has its number in the history, and an
// operation its number among those of all attempts.
type checker struct {
	h      *History
	first  []int32                                 // of each attempt, its first operation; one more at the end
	owner  []int32                                 // of each operation, its attempt
	writes []written                               // sorted by id
	from   []int32                                 // of each operation, the one that wrote what it read; unrecorded, or noRead
	seen   []bool                                  // of each operation: a node of another attempt read what it wrote
	node   []bool                                  // of each attempt: it is committed, or somebody saw it
	spans  map[metrics.WriteID]*metrics.WorkerSpan // by writer, with version 0
	edges  []edge
}

const (
	noOp       = -1
	unrecorded = -2 // the value's write is not in the history
	noRead     = -3
)

// written is a recorded write.
type written struct {
	id metrics.WriteID
	op int32
}

func newChecker(h *History) *checker {
	c := &checker{h: h, first: make([]int32, 1, len(h.Attempts)+1), node: make([]bool, len(h.Attempts)), spans: map[metrics.WriteID]*metrics.WorkerSpan{}}
	for i := range h.Spans {
		s := &h.Spans[i]
		c.spans[metrics.MakeWriteID(s.Client, s.Worker, 0)] = s
	}
	total, writes := 0, 0
	for i := range h.Attempts {
		total += len(h.Attempts[i].Ops)
		c.first = append(c.first, int32(total))
		for _, o := range h.Attempts[i].Ops {
			if o.Wrote != metrics.NoWrite {
				writes++
			}
		}
	}
	c.owner, c.from, c.seen = make([]int32, total), make([]int32, total), make([]bool, total)
	c.writes = make([]written, 0, writes)
	n := int32(0)
	for i := range h.Attempts {
		for _, o := range h.Attempts[i].Ops {
			c.owner[n], c.from[n] = int32(i), noRead
			if o.Wrote != metrics.NoWrite {
				c.writes = append(c.writes, written{o.Wrote, n})
			}
			n++
		}
	}
	slices.SortFunc(c.writes, func(a, b written) int { return cmp.Compare(a.id, b.id) })
	return c
}

func (c *checker) op(i int32) *Op {
	a := c.owner[i]
	return &c.h.Attempts[a].Ops[i-c.first[a]]
}

// resolve finds the writer of each value that a node read. An attempt that a node saw is a
// node.
func (c *checker) resolve() *Fault {
	var nodes []int32
	for i := range c.h.Attempts {
		if c.h.Attempts[i].Outcome == Committed {
			c.node[i] = true
			nodes = append(nodes, int32(i))
		}
	}
	for ; len(nodes) > 0; nodes = nodes[1:] {
		for i := c.first[nodes[0]]; i < c.first[nodes[0]+1]; i++ {
			if !c.op(i).Reads {
				continue
			}
			from, ok := c.find(c.op(i))
			if c.from[i] = from; !ok {
				return c.fault(ValueOfNobody, i, noOp, "T1 read %s as %s, which nobody wrote")
			}
			if from == unrecorded || c.owner[from] == nodes[0] {
				continue
			}
			writer := c.owner[from]
			switch c.seen[from] = true; {
			case c.h.Attempts[writer].Outcome == Aborted:
				return c.fault(AbortedRead, i, from, "T1 read %s as %s, which T2 wrote; T2 was aborted")
			case !c.node[writer]:
				c.node[writer] = true
				nodes = append(nodes, writer)
			}
		}
	}
	return nil
}

// find returns the write of a value that an operation read. ok is false if it must have been
// recorded, and is not, or belongs to another key.
func (c *checker) find(o *Op) (write int32, ok bool) {
	if o.Read == metrics.NoWrite {
		return unrecorded, true
	}
	at, found := slices.BinarySearchFunc(c.writes, o.Read, func(w written, id metrics.WriteID) int { return cmp.Compare(w.id, id) })
	if found {
		return c.writes[at].op, c.op(c.writes[at].op).Key == o.Key
	}
	s := c.span(o.Read)
	return unrecorded, s == nil || o.Read.Version() <= s.First || o.Read.Version() > s.Last
}

// span returns the span of a write's worker; nil if it did not record.
func (c *checker) span(w metrics.WriteID) *metrics.WorkerSpan {
	return c.spans[metrics.MakeWriteID(w.Client(), w.Worker(), 0)]
}

// perTransaction checks what the reads of each node say about its own operations, and
// about the inside of others.
func (c *checker) perTransaction() *Fault {
	for a := range c.h.Attempts {
		for i := c.first[a]; c.node[a] && i < c.first[a+1]; i++ {
			if c.from[i] == noRead {
				continue
			}
			from, before := c.from[i], c.before(i)
			switch {
			case before != noOp && c.op(before).Wrote != metrics.NoWrite:
				if from != before {
					return c.fault(OwnWriteUnseen, i, noOp, "T1 read %s as %s after it had written it")
				}
			case before != noOp && c.op(before).Read != c.op(i).Read:
				return c.fault(NonRepeatableRead, i, noOp, "T1 read %s as %s, and as another value before")
			case from != unrecorded && c.owner[from] == int32(a):
				return c.fault(ValueOfNobody, i, noOp, "T1 read %s as %s before it wrote it")
			case from != unrecorded && !c.final(from):
				return c.fault(IntermediateRead, i, from, "T1 read %s as %s, which T2 wrote and then replaced")
			}
		}
	}
	return nil
}

// before returns the last operation of the same attempt before operation i that wrote its key,
// or else the last one that read it; noOp if i is the first one.
func (c *checker) before(i int32) int32 {
	read := int32(noOp)
	for b := i - 1; b >= c.first[c.owner[i]]; b-- {
		switch o := c.op(b); {
		case o.Key != c.op(i).Key:
		case o.Wrote != metrics.NoWrite:
			return b
		case o.Reads && read == noOp:
			read = b
		}
	}
	return read
}

// final reports whether a write is the last one of its attempt on its key.
func (c *checker) final(i int32) bool {
	for b := i + 1; b < c.first[c.owner[i]+1]; b++ {
		if o := c.op(b); o.Key == c.op(i).Key && o.Wrote != metrics.NoWrite {
			return false
		}
	}
	return true
}
