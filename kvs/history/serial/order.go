package serial

import (
	"cmp"
	"slices"

	"kvlab/metrics"
)

// edge says that one node comes before another one.
type edge struct {
	from, to int32
	key      uint32
	kind     kinds
}

// kinds is a set of reasons for an edge.
type kinds uint8

const (
	writeWrite kinds = 1 << iota // to replaced what from wrote
	writeRead                    // to read what from wrote
	readWrite                    // to replaced what from read
	realTime                     // from returned before to was called

	everything = writeWrite | writeRead | readWrite | realTime
)

// add adds an edge between two attempts.
func (c *checker) add(from, to int32, key uint32, kind kinds) {
	if from != to {
		c.edges = append(c.edges, edge{from, to, key, kind})
	}
}

// touch is what a node does to a key that others can see: it reads it before it writes it, and
// leaves a last write. Each is noOp if there is none.
type touch struct {
	attempt     int32
	read, write int32
}

// keyOrder is the order of one key's writes. It is reused for each key.
type keyOrder struct {
	*checker
	key       uint32
	versioned bool
	touches   []touch
	next      map[metrics.WriteID]touch // of each value, who read and replaced it
	least     map[int32]uint64          // of a write without a version, its place by its reads
	placed    []placed                  // in order
}

// placed is a write with its place among those of its key: twice its version, or if the store
// did not tell it, twice the least version of its reads. All earlier writes that have a version
// come before that one.
type placed struct {
	place uint64
	op    int32
}

// order checks each key's operations, and adds the edges that follow from them.
func (c *checker) order() *Fault {
	start := make([]int32, len(c.h.Keys)+1)
	each := func(f func(i int32, key uint32)) {
		for i, owner := range c.owner {
			if c.node[owner] {
				f(int32(i), c.op(int32(i)).Key)
			}
		}
	}
	each(func(_ int32, key uint32) { start[key+1]++ })
	for key := range c.h.Keys {
		start[key+1] += start[key]
	}
	ops, at := make([]int32, start[len(c.h.Keys)]), slices.Clone(start)
	each(func(i int32, key uint32) {
		ops[at[key]] = i
		at[key]++
	})
	c.edges = make([]edge, 0, 2*len(ops)+3*len(c.node))
	k := &keyOrder{checker: c, next: map[metrics.WriteID]touch{}, least: map[int32]uint64{}}
	for key := range c.h.Keys {
		if f := k.check(uint32(key), ops[start[key]:start[key+1]]); f != nil {
			return f
		}
	}
	return nil
}

// check checks the operations of a key, in the order of their attempts.
func (k *keyOrder) check(key uint32, ops []int32) *Fault {
	k.key, k.versioned, k.touches = key, false, k.touches[:0]
	for _, i := range ops {
		if n := len(k.touches); n == 0 || k.touches[n-1].attempt != k.owner[i] {
			k.touches = append(k.touches, touch{k.owner[i], noOp, noOp})
		}
		t, o := &k.touches[len(k.touches)-1], k.op(i)
		if k.from[i] != noRead && t.read == noOp && t.write == noOp {
			t.read = i
		}
		if o.Wrote != metrics.NoWrite {
			t.write = i
		}
		k.versioned = k.versioned || o.Version != 0
	}
	if f := k.replaced(); f != nil {
		return f
	}
	if k.versioned {
		return k.byVersions()
	}
	k.byReads()
	return nil
}

// replaced finds who replaced each value that was read first, and two that replaced the same.
func (k *keyOrder) replaced() *Fault {
	clear(k.next)
	for _, t := range k.touches {
		if t.read == noOp || t.write == noOp {
			continue
		}
		value := k.op(t.read).Read
		other, twice := k.next[value]
		k.next[value] = t
		switch {
		case !twice:
		case k.skipped(t.attempt, other.write):
			return k.partial(t.read, other.write)
		case k.skipped(other.attempt, t.write):
			return k.partial(other.read, t.write)
		default:
			return k.fault(LostUpdate, t.read, other.read, "T1 and T2 both read %s as %s and replaced it")
		}
	}
	return nil
}

// byReads adds the edges of a key whose writes follow reads.
func (k *keyOrder) byReads() {
	for _, t := range k.touches {
		if t.read == noOp {
			continue
		}
		if from := k.from[t.read]; from >= 0 {
			k.add(k.owner[from], t.attempt, k.key, writeRead)
			if t.write != noOp {
				k.add(k.owner[from], t.attempt, k.key, writeWrite)
			}
		}
		if next, ok := k.next[k.op(t.read).Read]; ok {
			k.add(t.attempt, next.attempt, k.key, readWrite)
		}
	}
}

// limit returns the last place that a read can have seen; 0 if the store did not tell.
func (k *keyOrder) limit(t touch) uint64 {
	o, less := k.op(t.read), uint64(0)
	if o.Wrote != metrics.NoWrite { // the read is just before the last write
		o, less = k.op(t.write), 2
	}
	if o.Version == 0 {
		return 0
	}
	return 2*o.Version + 1 - less
}

// byVersions checks the versions of a key, and adds the edges of their order.
func (k *keyOrder) byVersions() *Fault {
	k.place()
	for i := 1; i < len(k.placed); i++ {
		a, b := k.placed[i-1], k.placed[i]
		if a.place == b.place {
			switch {
			case k.skipped(k.owner[b.op], a.op):
				return k.partial(b.op, a.op)
			case k.skipped(k.owner[a.op], b.op):
				return k.partial(a.op, b.op)
			}
			return k.fault(WrongVersion, a.op, b.op, "T1 and T2 both wrote %s with one version, T1 as %s")
		}
		k.add(k.owner[a.op], k.owner[b.op], k.key, writeWrite)
	}
	for _, t := range k.touches {
		if t.read != noOp {
			if f := k.readAt(t); f != nil {
				return f
			}
		}
	}
	return nil
}

// place sorts the writes of the key.
func (k *keyOrder) place() {
	k.placed = k.placed[:0]
	clear(k.least)
	for _, t := range k.touches {
		if t.read == noOp {
			continue
		}
		from, limit := k.from[t.read], k.limit(t)
		if from < 0 || limit == 0 || k.op(from).Version != 0 {
			continue
		}
		if least, ok := k.least[from]; !ok || limit-1 < least {
			k.least[from] = limit - 1
		}
	}
	for _, t := range k.touches {
		if t.write == noOp {
			continue
		}
		if v := k.op(t.write).Version; v != 0 {
			k.placed = append(k.placed, placed{2 * v, t.write})
		} else if least, ok := k.least[t.write]; ok {
			k.placed = append(k.placed, placed{least, t.write})
		}
	}
	slices.SortFunc(k.placed, func(a, b placed) int { return cmp.Compare(a.place, b.place) })
}

// placeOf returns the place of a write; 0 if it has none.
func (k *keyOrder) placeOf(write int32) uint64 {
	if v := k.op(write).Version; v != 0 {
		return 2 * v
	}
	return k.least[write]
}

// readAt checks what a node read against the versions, and adds the read's edges.
func (k *keyOrder) readAt(t touch) *Fault {
	from, limit := k.from[t.read], k.limit(t)
	if limit == 0 {
		if from >= 0 {
			limit = k.placeOf(from)
			k.add(k.owner[from], t.attempt, k.key, writeRead)
		}
		if limit == 0 {
			return nil
		}
	}
	next, _ := slices.BinarySearchFunc(k.placed, limit+1, func(p placed, place uint64) int { return cmp.Compare(p.place, place) })
	if next > 0 {
		last := k.placed[next-1].op
		switch {
		case k.owner[last] == t.attempt || from >= 0 && k.placeOf(from) > limit:
			return k.fault(WrongVersion, t.read, from, "T1 read %s as %s with a version that does not fit")
		case from >= 0 && from != last || from == unrecorded && k.older(k.op(t.read).Read, last):
			if k.seenElsewhere(last) {
				return k.partial(t.read, last)
			}
			return k.fault(ValueBack, t.read, last, "T1 read %s as %s after T2 had replaced it")
		}
		k.add(k.owner[last], t.attempt, k.key, writeRead)
	} else if from >= 0 {
		return k.fault(WrongVersion, t.read, from, "T1 read %s as %s with a version that does not fit")
	}
	if next == len(k.placed) {
		return nil
	}
	after := k.placed[next].op
	if own := t.write; own != noOp && k.placeOf(own) != 0 && own != after {
		if k.skipped(t.attempt, after) {
			return k.partial(t.read, after)
		}
		return k.fault(LostUpdate, t.read, after, "T1 read %s as %s and replaced it, but T2 had replaced it before")
	}
	k.add(t.attempt, k.owner[after], k.key, readWrite)
	return nil
}

// older reports whether a value that was not recorded was certainly there before a write was
// called.
func (k *keyOrder) older(value metrics.WriteID, write int32) bool {
	if value == metrics.NoWrite {
		return true
	}
	s := k.span(value)
	return s != nil && value.Version() <= s.First && s.BegunNs < k.h.Attempts[k.owner[write]].CallNs
}

// skipped reports whether a write was certainly lost for an attempt that should have seen it,
// and its transaction's other ones were not.
func (c *checker) skipped(reader, write int32) bool {
	writer := &c.h.Attempts[c.owner[write]]
	return writer.Outcome == Committed && writer.ReturnNs < c.h.Attempts[reader].CallNs && c.seenElsewhere(write)
}

// seenElsewhere reports whether nobody saw a write, and somebody another one of its
// transaction.
func (c *checker) seenElsewhere(write int32) bool {
	if c.seen[write] {
		return false
	}
	a := c.owner[write]
	for i := c.first[a]; i < c.first[a+1]; i++ {
		if c.seen[i] && c.op(i).Key != c.op(write).Key {
			return true
		}
	}
	return false
}

// partial returns the fault of a transaction with a lost write, given who did not see it.
func (c *checker) partial(i, write int32) *Fault {
	return c.fault(PartialCommit, write, i, "another transaction saw a write of T1, but nobody saw that of %s as %s, and T2 did not")
}
