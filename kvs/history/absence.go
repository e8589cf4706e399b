package history

import (
	"cmp"
	"slices"

	"kvlab/metrics"
)

// A workload that deletes makes a key absent many times, and a read that finds nothing does
// not say which Delete it saw. Each such read is therefore a block of its own, and so is each
// Delete that found the key. A value's cell that must both precede and follow such a block is
// a contradiction. So is an absence that no Delete can have caused. These conditions are
// necessary, so a correct store's history is always OK, but not sufficient.

// readsValue reports whether an operation read a value that identifies one write.
func readsValue(h metrics.History, o *op) bool {
	return o.Read != nil && (h.Deleters == 0 || *o.Read != metrics.NoWrite)
}

// absences returns a block for each operation that found the key absent, or made it so.
func absences(h metrics.History) (blocks []*block) {
	for i := range h.Ops {
		o := &h.Ops[i]
		if o.Wrote == metrics.NoWrite && !readsValue(h, o) && o.ReturnNs != metrics.Never {
			c := &cell{write: o, first: o, last: o}
			blocks = append(blocks, &block{cells: []*cell{c}, first: o.ReturnNs, last: o.CallNs})
		}
	}
	return blocks
}

// interval is the time in which an operation can have taken effect.
type interval struct{ call, back int64 }

// removals returns when the key can have been removed: by the Deletes of the history, and by
// those before and after each worker's span.
func removals(h metrics.History) (all []interval) {
	if len(h.Spans) < h.Deleters {
		return []interval{{always, metrics.Never}} // some worker's Deletes are not known
	}
	for _, s := range h.Spans {
		all = append(all, interval{always, s.BegunNs}, interval{s.EndedNs, metrics.Never})
	}
	for _, o := range h.Ops {
		if o.Removes() {
			all = append(all, interval{o.CallNs, o.ReturnNs})
		}
	}
	return all
}

// unexplained finds an operation that found the key absent after a value that nothing can
// have removed before it. Of the values that must precede the operation, the removal
// follows the one with the latest call.
func unexplained(h metrics.History, blocks []*block) *Result {
	var cells []*cell
	for _, b := range blocks {
		cells = append(cells, b.cells...)
	}
	slices.SortStableFunc(cells, func(a, b *cell) int { return cmp.Compare(a.first.ReturnNs, b.first.ReturnNs) })
	all := removals(h)
	slices.SortFunc(all, func(a, b interval) int { return cmp.Compare(a.call, b.call) })
	latest := make([]*cell, len(cells)+1) // of the first i cells, the one with the latest call
	for i, c := range cells {
		if latest[i+1] = latest[i]; latest[i] == nil || c.last.CallNs > latest[i].last.CallNs {
			latest[i+1] = c
		}
	}
	back := make([]int64, len(all)+1) // the latest return of the first i removals
	back[0] = always
	for i, r := range all {
		back[i+1] = max(back[i], r.back)
	}
	for i := range h.Ops {
		o := &h.Ops[i]
		if o.Read == nil || *o.Read != metrics.NoWrite {
			continue
		}
		n, _ := slices.BinarySearchFunc(cells, o.CallNs, func(c *cell, call int64) int { return cmp.Compare(c.first.ReturnNs, call) })
		m, _ := slices.BinarySearchFunc(all, o.ReturnNs, func(r interval, back int64) int { return cmp.Or(cmp.Compare(r.call, back), -1) })
		if v := latest[n]; v != nil && back[m] < v.last.CallNs {
			part := (&block{cells: []*cell{v}}).ops()
			return illegal(append(part, *o), "nothing was there after %s, and no delete can have removed it", v.write.Wrote)
		}
	}
	return nil
}
