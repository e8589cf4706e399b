package history

import (
	"cmp"
	"slices"
	"time"

	"kvlab/metrics"
)

// shared is the state of the slices that all clients record at the same time.
type shared struct {
	plan   metrics.SlicePlan
	begins time.Time                 // when the first slice begins
	share  func(metrics.Slice) error // receives this client's part of each
	next   int                       // the number of the next slice, from 1
	number int                       // the number of the slice being recorded; 0 if it is not shared
}

// until returns the time until the next shared slice; unlimited if none follows.
func (s *shared) until(now time.Time) time.Duration {
	if s.next > s.plan.Count {
		return unlimited
	}
	return s.begins.Add(time.Duration(s.next-1) * s.plan.Every).Sub(now)
}

// unlimited is longer than any run.
const unlimited time.Duration = 1 << 62

// open decides whether the slice that begins now is shared. If so, it is the latest due
// one: earlier ones would have little overlap with the other clients'. Every client
// records the first one, however late.
func (s *shared) open(now time.Time) {
	s.number = 0
	if s.until(now) > 0 {
		return
	}
	s.number = s.next
	if s.next > 1 {
		s.number = min(s.plan.Count, 1+int(now.Sub(s.begins)/s.plan.Every))
	}
	s.next = s.number + 1
}

// Share packs what was recorded for the launcher if the slice is shared. pack gets the most
// operations that the plan allows.
func (s *Schedule) Share(client int, pack func(slice *metrics.Slice, most int) error) error {
	if s.shared.number == 0 {
		return nil
	}
	slice := metrics.Slice{Number: s.shared.number, Client: client, Clock: s.Clock.ID, ErrorNs: s.Clock.ErrorNs}
	if err := pack(&slice, s.shared.plan.Ops); err != nil {
		return err
	}
	return s.shared.share(slice)
}

// packed packs the fragments of a shared slice: the operations with the earliest calls, at
// most most.
func packed(slice *metrics.Slice, keys Keys, fragments []*fragment, most int) error {
	kept := earliest(fragments, len(keys.Names), most)
	histories := make([]metrics.History, len(keys.Names))
	for key, name := range keys.Names {
		h := &histories[key]
		h.Key, h.Deleters = name, keys.Deleters
		for i, f := range fragments {
			ops := f.ops[key]
			h.Ops = append(h.Ops, ops[:kept[i][key]]...)
			h.Spans = append(h.Spans, f.spanOf(key, kept[i][key]))
		}
	}
	return slice.Pack(histories)
}

// earliest returns, for each fragment and key, the number of operations among the n with
// the earliest calls. A worker's operations on a key are in call order, so these are
// the first ones of each.
func earliest(fragments []*fragment, keys, n int) [][]int {
	type recorded struct {
		call          int64
		fragment, key int
	}
	var all []recorded
	kept := make([][]int, len(fragments))
	for i, f := range fragments {
		kept[i] = make([]int, keys)
		for key, ops := range f.ops {
			for _, o := range ops {
				all = append(all, recorded{o.CallNs, i, key})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b recorded) int { return cmp.Compare(a.call, b.call) })
	for _, r := range all[:min(n, len(all))] {
		kept[r.fragment][r.key]++
	}
	return kept
}

// spanOf returns the fragment's span for the first n of its operations on a key. The
// first omitted write was called no later than any later write to the key, even if a
// batch is split.
func (f *fragment) spanOf(key, n int) metrics.WorkerSpan {
	span, last := f.span, f.span.First
	for i, o := range f.ops[key] {
		switch {
		case o.Wrote == metrics.NoWrite && !o.Removes():
		case i >= n:
			span.Last, span.EndedNs = last, o.CallNs
			return span
		case o.Wrote != metrics.NoWrite:
			last = o.Wrote.Version()
		}
	}
	return span
}
