package history

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"kvlab/metrics"
)

// VerifyTogether verifies what several clients recorded on the same keys in the same
// slices. It unpacks and verifies one slice at a time. It finds violations that no
// single client sees: a read of a value after another client's replacement of it was
// acknowledged, and an update that another client overwrote without having seen it.
//
// VerifyTogether returns sound: the history of a linearizable store is never Illegal. It
// moves each call to its earliest possible time by the common clock, and each return to
// its latest. Writes before or after the slice, beyond a client's part of it, or by
// clients without a part may have happened at any time that the write ranges allow (see
// Verify). Therefore a key's first value may be any that was not certainly replaced.
//
// offsets bounds the lead of the clients' clocks over one common clock, where known;
// clients that share a clock need no bounds. VerifyTogether also returns the first
// history whose verdict is Illegal or Unknown. When ctx ends, it leaves the remaining
// slices unverified.
func VerifyTogether(ctx context.Context, all []metrics.Slice, offsets map[int]metrics.ClockOffsetBounds) (metrics.JointCheck, *metrics.Violation) {
	byNumber := make(map[int][]metrics.Slice)
	for _, s := range all {
		byNumber[s.Number] = append(byNumber[s.Number], s)
	}
	m := merger{offsets: offsets}
	for _, number := range slices.Sorted(maps.Keys(byNumber)) {
		if m.slice(ctx, byNumber[number]) {
			m.found.Slices++
		} else {
			m.found.Unverified++
		}
	}
	m.found.Illegal, m.found.Unknown = m.verdicts.illegal, m.verdicts.unknown
	if v := m.verdicts.first; v != nil {
		m.found.First = v.Why
	}
	return m.found, m.verdicts.first
}

// merger is the state of VerifyTogether.
type merger struct {
	offsets  map[int]metrics.ClockOffsetBounds
	found    metrics.JointCheck
	verdicts verdicts
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
		if ops, ok := m.together(ctx, parts, widen); ok {
			most, verified = max(most, ops), true
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

// together verifies several clients' parts of one slice, key by key. It returns the
// number of their operations; false if it could not verify them.
func (m *merger) together(ctx context.Context, parts []metrics.Slice, widen bool) (ops int, ok bool) {
	if len(parts) < 2 {
		return 0, false
	}
	merged := make(map[string]*metrics.History)
	for _, p := range parts {
		histories, err := p.Histories()
		if err != nil {
			m.found.First = cmp.Or(m.found.First, err.Error())
			return 0, false
		}
		ops += p.Ops
		var bounds metrics.ClockOffsetBounds
		if widen {
			bounds = m.offsets[p.Client]
			m.found.WidenedS = max(m.found.WidenedS, float64(bounds.MostNs-bounds.LeastNs)/1e9)
		}
		for _, h := range histories {
			all := cmp.Or(merged[h.Key], &metrics.History{Key: h.Key, Slice: h.Slice, Deleters: h.Deleters})
			merged[h.Key] = all
			add(all, h, bounds.MostNs+p.ErrorNs, bounds.LeastNs-p.ErrorNs)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(merged)) {
		if ctx.Err() != nil {
			m.found.First = cmp.Or(m.found.First, "there was no time for it")
			return 0, false
		}
		m.verdicts.verify(*merged[key])
	}
	m.found.Clients = max(m.found.Clients, len(parts))
	return ops, true
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
