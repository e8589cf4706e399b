package history

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"kvlab/metrics"
)

// Joint puts together what several clients have recorded of the same keys in the
// same slices. It finds what no client sees by itself: a value that one read
// after another's replacement of it had been acknowledged, an update by one
// that another overwrote without having seen it.
//
// What it says is sound: the history of a linearizable store is never Illegal.
// A client's call is moved to the earliest moment that it can have had by the
// common clock, its return to the latest. Writes before the slice, after it,
// beyond a client's share of it, and by whoever is missing from it are taken to
// have happened at any time that the spans allow, see Verify; so the key's first
// value may be any that was not certainly replaced. The zero Joint is empty. Not
// safe for concurrent use.
type Joint struct {
	parts map[int][]metrics.Slice // by number
}

// Add keeps a slice, packed as it is.
func (j *Joint) Add(s metrics.Slice) {
	if j.parts == nil {
		j.parts = make(map[int][]metrics.Slice)
	}
	j.parts[s.Number] = append(j.parts[s.Number], s)
}

// Verify verifies slice by slice, and unpacks no other meanwhile. ahead has, of the
// clients of which it is known, how far their clocks are ahead of one and the same
// other; those who share a clock need none. It also returns the first history that
// is not linearizable, or not certainly. The end of ctx leaves the rest unverified.
func (j *Joint) Verify(ctx context.Context, ahead map[int]metrics.Ahead) (metrics.JointCheck, *metrics.Violation) {
	v := merger{ahead: ahead}
	for _, number := range slices.Sorted(maps.Keys(j.parts)) {
		if v.slice(ctx, j.parts[number]) {
			v.found.Slices++
		} else {
			v.found.Unverified++
		}
	}
	return v.found, v.bad
}

// merger is the work of Verify.
type merger struct {
	ahead map[int]metrics.Ahead
	found metrics.JointCheck
	bad   *metrics.Violation
}

// slice verifies one slice, and reports whether it could: all clients together,
// and once more without widening those who share a clock, where not all do.
func (v *merger) slice(ctx context.Context, parts []metrics.Slice) bool {
	clocks := make(map[string][]metrics.Slice)
	for _, p := range parts {
		clocks[p.Clock] = append(clocks[p.Clock], p)
	}
	verified, most := false, 0
	try := func(parts []metrics.Slice, widen bool) {
		if ops, ok := v.together(ctx, parts, widen); ok {
			most, verified = max(most, ops), true
		}
	}
	if len(clocks) > 1 || clocks[""] != nil {
		known := slices.DeleteFunc(slices.Clone(parts), func(p metrics.Slice) bool { _, ok := v.ahead[p.Client]; return !ok })
		if len(known) < len(parts) {
			v.found.First = cmp.Or(v.found.First, "how far the clients' clocks are apart is not known")
		}
		try(known, true)
	}
	delete(clocks, "")
	for _, id := range slices.Sorted(maps.Keys(clocks)) {
		try(clocks[id], false)
	}
	v.found.Ops += uint64(most)
	return verified
}

// together verifies several clients' parts of one slice, key by key, and returns
// how many operations they have; false when it could not.
func (v *merger) together(ctx context.Context, parts []metrics.Slice, widen bool) (ops int, ok bool) {
	if len(parts) < 2 {
		return 0, false
	}
	merged := make(map[string]*metrics.History)
	for _, p := range parts {
		histories, err := p.Histories()
		if err != nil {
			v.found.First = cmp.Or(v.found.First, err.Error())
			return 0, false
		}
		ops += p.Ops
		w := v.widening(p, widen)
		for _, h := range histories {
			m := merged[h.Key]
			if m == nil {
				m = &metrics.History{Key: h.Key, Slice: h.Slice}
				merged[h.Key] = m
			}
			w.add(m, h)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(merged)) {
		if ctx.Err() != nil {
			v.found.First = cmp.Or(v.found.First, "there was no time for it")
			return 0, false
		}
		v.judge(*merged[key])
	}
	v.found.Clients = max(v.found.Clients, len(parts))
	return ops, true
}

// judge verifies one key's history.
func (v *merger) judge(h metrics.History) {
	r := Verify(h)
	switch r.Outcome {
	case OK:
		return
	case Illegal:
		v.found.Illegal++
	default:
		v.found.Unknown++
	}
	if v.bad == nil {
		v.found.First = r.Why
		v.bad = &metrics.Violation{Why: r.Why, History: h, Part: r.Part}
	}
}

// widening moves a client's times to a common clock.
type widening struct {
	earlier, later int64 // subtracted from what cannot be later, or earlier, than was read
}

func (v *merger) widening(p metrics.Slice, widen bool) widening {
	a := metrics.Ahead{}
	if widen {
		a = v.ahead[p.Client]
		v.found.WidenedS = max(v.found.WidenedS, float64(a.MostNs-a.LeastNs)/1e9)
	}
	return widening{earlier: a.MostNs + p.ErrorNs, later: a.LeastNs - p.ErrorNs}
}

// add appends a client's history to what there is of the key.
func (w widening) add(m *metrics.History, h metrics.History) {
	for _, o := range h.Ops {
		o.CallNs -= w.earlier
		o.ReturnNs = w.end(o.ReturnNs)
		m.Ops = append(m.Ops, o)
	}
	for _, s := range h.Spans {
		s.BegunNs = w.end(s.BegunNs)
		s.EndedNs -= w.earlier
		m.Spans = append(m.Spans, s)
	}
}

// end is the latest that something can have ended.
func (w widening) end(ns int64) int64 {
	if ns == metrics.Never {
		return ns
	}
	return ns - w.later
}
