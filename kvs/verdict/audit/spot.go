package audit

import (
	"fmt"
	"slices"
	"time"

	"kvlab/metrics"
	"kvlab/workload"
)

// spot is a read of an audited key in the window: as a write, it was sent no earlier than
// at sent, of the value that it found.
type spot struct {
	write
	key int // its number
}

func (a *auditor) addSpot(r metrics.AuditRecord, s metrics.Spot) {
	a.spots = append(a.spots, spot{write{client: r.Client, worker: int(s.Worker), value: s.Found, sent: r.OriginNs + int64(s.Sent)*r.TickNs, acked: r.OriginNs + int64(s.Came)*r.TickNs}, int(s.Key)})
}

// judgeSpots judges what the clients read in the window: each read the keys that the secret
// selects, and no value was surely replaced before its read was sent. It knows for each
// worker the last write that was acknowledged when the spots began, so it is sound and not
// complete: a store that is linearizable per key has no failure.
func (a *auditor) judgeSpots() {
	read := make(map[[2]int]bool) // by client and key
	for _, s := range a.spots {
		read[[2]int{s.client, s.key}] = true
	}
	for client := range a.records {
		for _, number := range workload.SampleSpots(a.secret, len(a.ids)) {
			if !read[[2]int{client, int(number)}] {
				key, _ := a.keys.Append(nil, a.ids[number])
				a.fail("client %d did not read key %s in the window", client, key)
			}
		}
	}
	for _, s := range a.spots {
		if s.key < 0 || s.key >= len(a.ids) {
			a.fail("client %d read key %d of %d in the window", s.client, s.key, len(a.ids))
			continue
		}
		a.found.Spots++
		a.judgeLife(s)
		if w, ns := a.replacedBefore(s); ns > 0 {
			key, _ := a.keys.Append(nil, a.ids[s.key])
			has, what := a.text(s.value), a.text(w.value)
			if s.value == metrics.NoWrite {
				has = "no value"
			}
			if w.value == metrics.NoWrite {
				what = fmt.Sprintf("a Delete by worker %d of client %d", w.worker, w.client)
			}
			a.fail("a stale read in the window: key %s has %s where %s was acknowledged %s before the read was sent", key, has, what, time.Duration(ns))
		}
	}
}

// replacedBefore returns a write that replaced the value that a spot found, and how long
// before the spot was sent that write was acknowledged, in ns; 0 if none surely did.
func (a *auditor) replacedBefore(s spot) (write, int64) {
	deletes := a.plan.Share(workload.Delete) > 0
	for _, w := range a.before[s.key] {
		ns := a.after(s.write, w)
		if ns <= 0 {
			continue
		}
		switch found := s.value; {
		case found == w.value:
		case found == metrics.NoWrite:
			if !deletes && !a.mayBeGone(s.write, w) {
				return w, ns
			}
		case a.loaded(found),
			w.value != metrics.NoWrite && found.Client() == w.client && found.Worker() == w.worker && found.Version() < w.value.Version(),
			slices.ContainsFunc(a.before[s.key], func(u write) bool { return u.value == found && a.after(w, u) > 0 }):
			return w, ns
		}
	}
	return write{}, 0
}
