package loadgen

import (
	"slices"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/clock"
)

// joint is the slices that all clients of a run record at the same time, and give
// to whoever puts them together.
type joint struct {
	plan   metrics.SlicePlan
	begins time.Time // of the first
	share  func(metrics.Slice) error
	next   int // the number of the one that comes next, from 1
	number int // of the one that is being recorded; 0 when that is this client's own affair
}

// until is how long it is until the next joint slice; for ever when none follows.
func (j *joint) until(now time.Time) time.Duration {
	if j.next > j.plan.Count {
		return unlimited
	}
	return j.begins.Add(time.Duration(j.next-1) * j.plan.Every()).Sub(now)
}

// unlimited is longer than any run.
const unlimited time.Duration = 1 << 62

// open says whether the slice that begins now is a joint one: then it is the last
// whose time has come, for those before it would have little in common with the
// other clients'. The first is every client's, however late it begins.
func (j *joint) open(now time.Time) {
	j.number = 0
	if j.until(now) > 0 {
		return
	}
	j.number = j.next
	if j.next > 1 {
		j.number = min(j.plan.Count, 1+int(now.Sub(j.begins)/j.plan.Every()))
	}
	j.next = j.number + 1
}

// give shares the parts of a joint slice. Of more operations than the plan allows
// it gives those that were called first.
func (j *joint) give(client int, clock clock.Clock, names []string, parts []*part) error {
	if j.number == 0 {
		return nil
	}
	kept := earliest(parts, len(names), j.plan.Ops)
	histories := make([]metrics.History, len(names))
	for key, name := range names {
		h := &histories[key]
		h.Key = name
		for i, p := range parts {
			ops := p.ops[key]
			h.Ops = append(h.Ops, ops[:kept[i][key]]...)
			h.Spans = append(h.Spans, p.spanOf(key, kept[i][key]))
		}
	}
	s := metrics.Slice{Number: j.number, Client: client, Clock: clock.ID, ErrorNs: clock.ErrorNs}
	if err := s.Pack(histories); err != nil {
		return err
	}
	return j.share(s)
}

// earliest is how many operations of each part and key are among the n of all
// that were called first. A worker's operations on a key stand in the order of
// their calls, so these are the first ones there.
func earliest(parts []*part, keys, n int) [][]int {
	type recorded struct {
		call      int64
		part, key int
	}
	var all []recorded
	kept := make([][]int, len(parts))
	for i, p := range parts {
		kept[i] = make([]int, keys)
		for key, ops := range p.ops {
			for _, o := range ops {
				all = append(all, recorded{o.CallNs, i, key})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b recorded) int { return int(min(max(a.call-b.call, -1), 1)) })
	for _, r := range all[:min(n, len(all))] {
		kept[r.part][r.key]++
	}
	return kept
}

// spanOf is the part's span for the first n of its operations on a key. What was
// written to the key after these was called no sooner than the first such write:
// that holds of a batch that is cut through too.
func (p *part) spanOf(key, n int) metrics.WorkerSpan {
	span, last := p.span, p.span.First
	for i, o := range p.ops[key] {
		switch {
		case o.Wrote == metrics.NoValue:
		case i >= n:
			span.Last, span.EndedNs = last, o.CallNs
			return span
		default:
			last = o.Wrote.Version()
		}
	}
	return span
}
