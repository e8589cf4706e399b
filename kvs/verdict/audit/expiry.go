package audit

import (
	"fmt"
	"math"
	"slices"
	"time"

	"kvlab/metrics"
	"kvlab/workload"
)

// With -ttl a key lives from a write for so long, a second more or less: metrics.ExpirySlack. A
// read that misses it before is wrong, and so is one that finds the write's value after. In
// between, either is right.

// age returns between which times, in ns, a write was applied before a read, which are known as
// writes are, from the send to the reply.
func (a *auditor) age(read, w write) (least, most int64) {
	if !a.comparable(read.client, w.client) {
		return 0, math.MaxInt64
	}
	return a.after(read, w), -a.after(w, read)
}

// mayBeGone reports whether a write's value may have expired before a read ended, with -ttl.
func (a *auditor) mayBeGone(read, w write) bool {
	if a.ttl == 0 {
		return false
	}
	_, most := a.age(read, w)
	return most >= a.ttl-int64(metrics.ExpirySlack)
}

// outlived returns why a value that a read found has outlived -ttl, given the writes that are
// known; "" if it need not have.
func (a *auditor) outlived(read write, writes []write) string {
	if a.ttl == 0 || read.value == metrics.NoWrite {
		return ""
	}
	if a.loaded(read.value) {
		writes = []write{a.loads[read.value.Client()]}
		writes[0].value = read.value
	}
	for _, w := range writes {
		if least, _ := a.age(read, w); w.value == read.value && !w.lost && least > a.ttl+int64(metrics.ExpirySlack) {
			return fmt.Sprintf("has %s, acknowledged %s before the read was sent: it outlives -ttl %s", a.text(w.value), time.Duration(least), time.Duration(a.ttl))
		}
	}
	return ""
}

// gone reports whether a key that is missing may have expired: its last write is one of those
// that none surely replaced, or that of the load.
func (a *auditor) gone(read write, writes []write, loaded bool) bool {
	acked := slices.DeleteFunc(slices.Clone(writes), func(w write) bool { return w.lost })
	if len(acked) == 0 && loaded {
		writes = slices.Concat(writes, a.loads)
	}
	return slices.ContainsFunc(writes, func(w write) bool {
		_, replaced := a.replaced(w, acked)
		return replaced <= 0 && a.mayBeGone(read, w)
	})
}

// gatherTimes takes when a client loaded and read, with -ttl; it says what is missing.
func (a *auditor) gatherTimes(r metrics.AuditRecord) string {
	times := []int64{r.LoadNs[0], r.LoadNs[1], r.ReadNs[0], r.ReadNs[1]}
	if a.ttl > 0 && (times[0] == 0 || !slices.IsSorted(times)) {
		return fmt.Sprintf("client %d does not say when it loaded and when it read the sample, as -ttl needs", r.Client)
	}
	a.loads = append(a.loads, write{client: r.Client, sent: times[0], acked: times[1]})
	return ""
}

// judgeLife judges what a spot found, as far as no write in the window explains it.
func (a *auditor) judgeLife(s spot) {
	if a.ttl == 0 {
		return
	}
	key, _ := a.keys.Append(nil, a.ids[s.key])
	if why := a.outlived(s.write, a.before[s.key]); why != "" {
		a.fail("in the window key %s %s", key, why)
	}
	inserted := s.key >= len(a.ids)-len(a.plan.SampleInserts(a.secret))
	if s.value == metrics.NoWrite && !inserted && a.plan.Share(workload.Delete) == 0 && !slices.ContainsFunc(a.loads, func(w write) bool { return a.mayBeGone(s.write, w) }) {
		a.fail("in the window key %s is missing, and no loaded key can have lived for -ttl %s", key, time.Duration(a.ttl))
	}
}
