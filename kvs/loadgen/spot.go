package loadgen

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"kvlab/kvs"
	"kvlab/kvs/loadgen/timer"
	"kvlab/kvs/value"
	"kvlab/metrics"
	"kvlab/workload"
)

// In the window every client reads some audited keys among its operations: spots. They take
// the place of operations in a worker's rounds, at most one in each, so that no server can
// tell them apart. They count with the audit, and in no rate or latency. The secret decides
// which keys, and when: from a moment in the middle half of the window, or of a worker's
// operations where these end the run. A worker keeps the
// last writes of these keys that it knew at that moment, and the verdict judges all clients'
// spots by them.

// spotsAt returns the moment in a window at which the reading of spots begins.
func (a *audited) spotsAt(window *span) moment {
	return window.opens + moment(a.spotShare*float64(window.closes-window.opens))
}

// spotting reports whether a worker has a spot to read in a round that begins at a moment.
func (w *worker) spotting(s schedule, at moment) bool {
	if w.audited == nil || w.before != nil && len(w.spots) == 0 {
		return false
	}
	window := s.window.Load()
	if window == nil || at < w.audited.spotsAt(window) && !w.source.Passed(w.audited.spotShare) {
		return false
	}
	if w.before == nil {
		w.before = make([]lastWrite, 0, len(w.audited.spots))
		for _, number := range w.audited.spots {
			w.before = append(w.before, w.last[number])
		}
	}
	return len(w.spots) > 0
}

// addSpot adds the worker's next spot to a round, and returns its exchange.
func (w *worker) addSpot(r *round) *exchange {
	number := w.spots[0]
	w.spots = w.spots[1:]
	w.add(r, []workload.Op{{Kind: workload.Read, Key: w.audited.ids[number]}})
	x := &r.exchanges[w.block.owners[0]]
	x.spot, x.spotAt = number, len(x.kinds)-1
	return x
}

// spotRest reads the spots that no round had room for, in rounds of their own, when the window has
// closed. In an open loop, which has a clock, the last operation may be due long before.
func (w *worker) spotRest(s schedule, clock *timer.Timer) error {
	r := &w.rounds[0]
	if left := s.left(now()); left > 0 && clock != nil && len(w.spots) > 0 {
		if err := clock.Sleep(left); err != nil {
			return err
		}
	}
	if !s.over(now()) { // or the context has ended
		return nil
	}
	for {
		r.begin()
		if !w.spotting(s, r.begun) {
			return nil
		}
		if err := w.readSpot(r, s); err != nil {
			return err
		}
	}
}

// readSpot reads the worker's next spot in a round of its own, which begins.
func (w *worker) readSpot(r *round, s schedule) error {
	r.empty()
	x := w.addSpot(r)
	if r.from != 0 { // an open loop
		x.due = append(x.due, r.begun-r.from)
	}
	w.send(r)
	return w.finish(r, s.at)
}

// checkSpot checks the result of an exchange's spot, and keeps it.
func (w *worker) checkSpot(x *exchange, result kvs.Result, t *replyCheck) error {
	if !result.Read {
		return fmt.Errorf("%w reply: operation %d is a get, its result is not", kvs.ErrMalformed, x.spotAt)
	}
	found := metrics.NoWrite
	if t.spot = (metrics.Counts{Gets: 1, Misses: 1}); result.Found {
		t.spot = metrics.Counts{Gets: 1, Hits: 1}
		if w.checker.Every == VerifyNone {
			t.Unchecked++
		} else if compared, err := w.checker.Check(result.Value, x.hashes[x.spotAt]); err != nil {
			t.Failures++
			t.First = cmp.Or(t.First, fmt.Sprintf("worker %d: get: %v", w.id, err))
			return nil
		} else if t.Checked++; compared {
			t.Compared++
		}
		if len(result.Value) >= value.HeaderLen {
			found = metrics.WriteID(binary.LittleEndian.Uint64(result.Value[8:]))
		}
	}
	w.spotted = append(w.spotted, metrics.Spot{Key: int32(x.spot), Worker: uint16(w.id), Sent: w.audited.ticks(x.sent), Came: w.audited.ticks(x.came) + 1, Found: found})
	return nil
}

// countSpot counts an exchange's spot. w.mu is held.
func (w *worker) countSpot(i int, r *round, checked *replyCheck) {
	w.counts[i].Accumulate(&checked.spot)
	w.auditCounts[i].Accumulate(&checked.spot)
	if r.window != nil {
		w.sums.Spots++
	}
}

// returnSpot gives back the spot of a call whose outcome is unknown, to be read again.
func (w *worker) returnSpot(r *round, x *exchange) {
	if x.spotAt < 0 {
		return
	}
	w.spots, w.lostSpots = append(w.spots, x.spot), w.lostSpots+1
	if r.window != nil {
		w.sums.Spots++
	}
}

// shareSpots gives the client's workers their parts of the spots.
func (g *Generator) shareSpots(secret uint64) {
	a := g.audited
	a.spotShare = workload.SpotShare(secret)
	a.spots = workload.SampleSpots(secret, len(a.ids))
	for _, w := range g.workers {
		from, to := workload.Place{Nodes: 1, Worker: w.id, Workers: g.config.Workers}.Part(uint64(len(a.spots)))
		w.spots, w.before, w.spotted = slices.Clone(a.spots[from:to]), nil, nil
	}
}

// spots returns what the client's workers read, and the last writes that they knew.
func (g *Generator) spots() (spots []metrics.Spot, before metrics.AuditWrites) {
	for _, w := range g.workers {
		spots = append(spots, w.spotted...)
	}
	return spots, g.lastOf(g.audited.spots, func(w *worker, i int) (l lastWrite) {
		if w.before != nil {
			l = w.before[i]
		}
		return l
	})
}
