package history

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"kvlab/metrics"
)

// VerifyTogether verifies what several clients recorded on the same keys in the same
// slices, as Together puts them together. It finds violations that no single client sees: a
// read of a value after another client's replacement of it was acknowledged, and an update that
// another client overwrote without having seen it. It also returns the first history whose
// verdict is Illegal or Unknown.
//
// VerifyTogether is sound: the history of a linearizable store is never Illegal. Writes before
// or after the slice, beyond a client's part of it, or by clients without a part may have
// happened at any time that the write ranges allow (see Verify). Therefore a key's first value
// may be any that was not certainly replaced.
func VerifyTogether(ctx context.Context, all []metrics.Slice, offsets map[int]metrics.ClockOffsetBounds) (metrics.JointCheck, *metrics.Violation) {
	var v verdicts
	found := Together(ctx, all, offsets, func(parts []Part) (int, error) { return v.together(ctx, parts) })
	found.Illegal, found.Unknown = v.illegal, v.unknown
	if v.first != nil {
		found.First = v.first.Why
	}
	return found, v.first
}

// Part is a client's part of a slice that several clients recorded.
type Part struct {
	metrics.Slice

	// A recorded time minus these is the latest and the earliest time by the common clock, in
	// ns.
	Least, Most int64
}

// Together puts the parts of each slice together, one slice at a time, and calls verify with at
// least two of them, which may be more than once for a slice. verify returns how much it
// verified, or why it could not.
//
// No store is accused because of the clocks if verify moves each call to its earliest possible
// time by the common clock, and each return to its latest. offsets bounds the lead of the
// clients' clocks over one common clock, where known; clients that share a clock need no bounds.
// When ctx ends, Together leaves the remaining slices unverified.
func Together(ctx context.Context, all []metrics.Slice, offsets map[int]metrics.ClockOffsetBounds, verify func([]Part) (int, error)) metrics.JointCheck {
	byNumber := make(map[int][]metrics.Slice)
	for _, s := range all {
		byNumber[s.Number] = append(byNumber[s.Number], s)
	}
	m := merger{offsets: offsets, verify: verify}
	for _, number := range slices.Sorted(maps.Keys(byNumber)) {
		if m.slice(ctx, byNumber[number]) {
			m.found.Slices++
		} else {
			m.found.Unverified++
		}
	}
	return m.found
}

// merger is the state of Together.
type merger struct {
	offsets map[int]metrics.ClockOffsetBounds
	verify  func([]Part) (int, error)
	found   metrics.JointCheck
}

// slice verifies one slice and reports whether it could. It verifies all clients
// together. Unless all share one clock, it then verifies each group with a common clock
// again, without widening.
func (m *merger) slice(ctx context.Context, parts []metrics.Slice) bool {
	clocks := make(map[string][]metrics.Slice)
	for _, p := range parts {
		clocks[p.Clock] = append(clocks[p.Clock], p)
	}
	verified, most := false, 0
	try := func(parts []metrics.Slice, widen bool) {
		if n, ok := m.together(ctx, parts, widen); ok {
			most, verified = max(most, n), true
		}
	}
	if len(clocks) > 1 || clocks[""] != nil {
		known := slices.DeleteFunc(slices.Clone(parts), func(p metrics.Slice) bool { _, ok := m.offsets[p.Client]; return !ok })
		if len(known) < len(parts) {
			m.found.First = cmp.Or(m.found.First, "how far the clients' clocks are apart is not known")
		}
		try(known, true)
	}
	delete(clocks, "")
	for _, id := range slices.Sorted(maps.Keys(clocks)) {
		try(clocks[id], false)
	}
	m.found.Ops += uint64(most)
	return verified
}

// together verifies several clients' parts of one slice. It returns how much it verified; false
// if it could not.
func (m *merger) together(ctx context.Context, all []metrics.Slice, widen bool) (n int, ok bool) {
	if len(all) < 2 {
		return 0, false
	}
	var parts []Part
	for _, s := range all {
		var bounds metrics.ClockOffsetBounds
		if widen {
			bounds = m.offsets[s.Client]
			m.found.WidenedS = max(m.found.WidenedS, float64(bounds.MostNs-bounds.LeastNs)/1e9)
		}
		parts = append(parts, Part{s, bounds.LeastNs - s.ErrorNs, bounds.MostNs + s.ErrorNs})
	}
	n, err := 0, error(nil)
	if ctx.Err() == nil {
		n, err = m.verify(parts)
	}
	switch {
	case err != nil:
		m.found.First = cmp.Or(m.found.First, err.Error())
	case ctx.Err() != nil:
		m.found.First = cmp.Or(m.found.First, "there was no time for it")
	default:
		m.found.Clients = max(m.found.Clients, len(parts))
		return n, true
	}
	return 0, false
}

// together verifies several clients' parts of one slice, key by key.
func (v *verdicts) together(ctx context.Context, parts []Part) (ops int, err error) {
	merged := make(map[string]*metrics.History)
	for _, p := range parts {
		histories, err := p.Histories()
		if err != nil {
			return 0, err
		}
		for _, h := range histories {
			ops += len(h.Ops)
			all := cmp.Or(merged[h.Key], &metrics.History{Key: h.Key, Slice: h.Slice, Deleters: h.Deleters})
			merged[h.Key] = all
			add(all, h, p.Most, p.Least)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(merged)) {
		if ctx.Err() == nil {
			v.verify(*merged[key])
		}
	}
	return ops, nil
}

// add appends a client's history of a key to the others', by a common clock. It
// subtracts most from times that cannot be later than recorded, and least from times
// that cannot be earlier.
func add(all *metrics.History, h metrics.History, most, least int64) {
	end := func(ns int64) int64 {
		if ns == metrics.Never {
			return ns
		}
		return ns - least
	}
	for _, o := range h.Ops {
		o.CallNs -= most
		o.ReturnNs = end(o.ReturnNs)
		all.Ops = append(all.Ops, o)
	}
	for _, s := range h.Spans {
		s.BegunNs = end(s.BegunNs)
		s.EndedNs -= most
		all.Spans = append(all.Spans, s)
	}
}
