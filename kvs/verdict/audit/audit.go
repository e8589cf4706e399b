// Package audit judges what the clients read of the keys that a secret selects, in the window
// and after the drain, by pure functions of their records.
package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/kvs/verdict/work"
	"kvlab/metrics"
	"kvlab/metrics/stats"
	"kvlab/workload"
	"kvlab/workload/size"
)

// write is a client's last acknowledged write or Delete of a key by one worker.
type write struct {
	client, worker int
	value          metrics.WriteID // NoValue of a Delete
	sent, acked    int64           // ns of its client's clock: no earlier, and no later
	lost           bool            // its outcome is unknown, as its worker learned at acked
}

// auditor judges the clients' records.
type auditor struct {
	found   metrics.Audit
	plan    *workload.Plan
	secret  uint64
	keys    route.Keys
	ids     []uint64              // of the audited records, by number
	records []metrics.AuditRecord // by client
	bounds  []*metrics.ClockOffsetBounds
	writes  [][]write // by key
	before  [][]write // what the clients knew when they began to read the spots, likewise
	spots   []spot
	ttl     int64   // -ttl in ns; 0 for none
	loads   []write // with it, by client: when it loaded
}

// Judge judges what the clients read after the drain, from a run's workload and
// preflight, the secret in hex and the clients' records: each key that the secret selects was read, and its
// value is the last acknowledged write of one of its writers, which no write was sent
// after; or the loaded value, if no worker wrote the key. A Delete is a write that leaves
// no value. A write whose outcome is unknown may be there or not, but not after a later one
// that was acknowledged. A key that no worker inserted has none. It is sound: a store that is
// linearizable per key has no failure. The result is nil if no client sent a record and a
// server has no store, or if they replay a trace, of which they check each read.
func Judge(run metrics.Run, secret string, records []metrics.AuditRecord) *metrics.Audit {
	if len(records) == 0 && (slices.ContainsFunc(run.Nodes, metrics.RunNode.Storeless) || run.Workload["replay"] != "") {
		return nil
	}
	a := &auditor{found: metrics.Audit{Secret: secret}}
	if why := a.gather(run, records); why != "" {
		a.fail("%s", why)
		return &a.found
	}
	ranks, inserted := a.plan.Sample(a.secret, a.found.Each), a.plan.SampleInserts(a.secret)
	a.found.Keys = len(ranks)
	for _, rank := range ranks {
		a.ids = append(a.ids, a.plan.Key(rank))
	}
	a.ids = append(a.ids, inserted...)
	a.writes, a.before = make([][]write, len(a.ids)), make([][]write, len(a.ids))
	values := make([]*write, len(a.writes))
	for _, r := range a.records {
		if why := cmp.Or(a.gatherTimes(r), a.unpack(run, r, values)); why != "" {
			a.fail("%s", why)
			return &a.found
		}
	}
	for i, rank := range ranks {
		a.judgeKey(a.ids[i], fmt.Sprintf("popularity rank %d", rank+1), values[i], a.writes[i], true)
	}
	a.judgeWritten(run, ranks)
	a.judgeSpots()
	for i, id := range inserted {
		i += len(ranks)
		if len(a.writes[i]) > 0 {
			a.found.Keys++
		}
		a.judgeKey(id, "inserted", values[i], a.writes[i], false)
	}
	return &a.found
}

// judgeKey judges a record's key, given what was read there.
func (a *auditor) judgeKey(id uint64, what string, read *write, writes []write, loaded bool) {
	if slices.ContainsFunc(writes, func(w write) bool { return !w.lost }) {
		a.found.Written++
	}
	key, _ := a.keys.Append(nil, id)
	if read == nil {
		a.fail("key %s was not read", key)
	} else if why := cmp.Or(a.outlived(*read, writes), a.judge(*read, writes, loaded)); why != "" {
		a.fail("key %s (%s) %s", key, what, why)
	}
}

// judgeWritten fails unless as many of the records were written as the clients' writes, drawn
// independently, write of them.
func (a *auditor) judgeWritten(run metrics.Run, ranks []uint64) {
	if slices.ContainsFunc(run.Nodes, func(n metrics.RunNode) bool { return n.Summary == nil }) {
		return
	}
	shares := a.shares(run, ranks)
	if shares == nil {
		return
	}
	var done metrics.Counts
	for _, client := range run.Summaries(metrics.Client) {
		for _, peer := range client.Peers {
			done = done.Add(peer.Drawn())
		}
	}
	written := stats.Count{Observed: uint64(a.found.Written)}
	writes, drawing := float64(done.Writes()-done.Inserts), 1-a.plan.Share(workload.Insert)
	for _, share := range shares {
		written.Add(1, -math.Expm1(writes*math.Log1p(-share/drawing)))
	}
	if written.Improbable(1) {
		a.fail("the clients report writes of %d of the %d keys, where their %.0f writes are on %.0f", a.found.Written, len(ranks), writes, written.Mean)
	}
}

// shares returns the records' shares of all operations; nil where they are not known.
func (a *auditor) shares(run metrics.Run, ranks []uint64) (shares []float64) {
	for _, rank := range ranks {
		shares = append(shares, a.plan.Mass(rank))
	}
	places := a.plan.Places(work.Drawn(&run))
	switch known := a.plan.Mass(workload.KnownRanks) == 0; {
	case places == nil && a.plan.Fixed():
		return shares
	case places == nil || !known:
		return nil
	}
	number := make(map[uint64]int) // by id
	for i := range ranks {
		number[a.ids[i]] = i
	}
	for id, share := range a.plan.PopularAt(places) {
		if i, audited := number[id]; audited {
			shares[i] = math.Ldexp(float64(share), -48)
		}
	}
	return shares
}

// judgeChecks says what is wrong with the check bytes of the values that a client found:
// those of other keys, or under another key of the values, have another sum.
func (a *auditor) judgeChecks(run metrics.Run, r metrics.AuditRecord, first int, found []metrics.WriteID) string {
	var law size.Law
	key, err := value.ParseKey(run.ValueKey)
	if err := cmp.Or(err, law.Set(run.Workload.ValueSize())); err != nil {
		return err.Error()
	}
	config, _, _, _ := work.Of(run.Workload) // gather reports its error
	sizes, sum := law.Values(config.Seed), uint64(0)
	for i, v := range found {
		if at := first + i; v != metrics.NoWrite && at >= 0 && at < len(a.ids) {
			_, hash := a.keys.Append(nil, a.ids[at])
			sum += key.Check(hash, v, sizes.At(hash))
		}
	}
	if sum != r.Checks {
		return fmt.Sprintf("client %d: the values that it audited have check bytes of sum %016x, want %016x: they are not of the keys that the secret selects, or do not depend on the trial's key", r.Client, r.Checks, sum)
	}
	return ""
}

// fail counts a failure.
func (a *auditor) fail(layout string, args ...any) {
	a.found.Failures++
	a.found.First = cmp.Or(a.found.First, fmt.Sprintf(layout, args...))
}

// gather takes what the records are judged by; it says what is missing.
func (a *auditor) gather(run metrics.Run, records []metrics.AuditRecord) string {
	config, _, keys, err := work.Of(run.Workload)
	if err == nil {
		a.plan, err = workload.New(config)
	}
	if err == nil {
		a.secret, err = strconv.ParseUint(a.found.Secret, 16, 64)
	}
	if err != nil {
		return err.Error()
	}
	a.ttl = max(0, int64(run.Workload.TTL()))
	a.keys, a.found.Each = keys, metrics.AuditEach(run.Settings(metrics.Client).Linearizable())
	for i, node := range run.Clients() {
		at := slices.IndexFunc(records, func(r metrics.AuditRecord) bool { return r.Client == i })
		if at < 0 {
			return fmt.Sprintf("client %s did not report the keys that it read", node.Name)
		}
		a.records = append(a.records, records[at])
		var bounds *metrics.ClockOffsetBounds
		if b, ok := run.Preflight.ClockOffsetBounds(node.Name); ok {
			bounds = &b
		}
		a.bounds = append(a.bounds, bounds)
		if each := records[at].Each; each != a.found.Each {
			return fmt.Sprintf("client %s audited at most %d keys of each range of ranks, want %d", node.Name, each, a.found.Each)
		}
	}
	return ""
}

// unpack takes a client's writes and the values that it read; it says what is wrong with
// its record.
func (a *auditor) unpack(run metrics.Run, r metrics.AuditRecord, values []*write) string {
	keys, err := r.Keys()
	if err != nil {
		return fmt.Sprintf("client %d: %v", r.Client, err)
	}
	for i, w := range []metrics.AuditWrites{keys.AuditWrites, keys.Before} {
		to := [][][]write{a.writes, a.before}[i]
		for i, key := range w.Keys {
			if !a.add(to, r, write{worker: int(w.Workers[i])}, key, w.Versions[i], w.Sent[i], w.Acked[i]) {
				return fmt.Sprintf("client %d reports a write of key %d of %d by worker %d", r.Client, key, len(a.writes), w.Workers[i])
			}
		}
	}
	for _, s := range keys.Spots {
		a.addSpot(r, s)
	}
	for _, l := range keys.Lost {
		if !a.add(a.writes, r, write{worker: int(l.Worker), lost: true}, l.Key, l.Version, l.Sent, l.Learned) {
			return fmt.Sprintf("client %d reports a lost write of key %d of %d by worker %d", r.Client, l.Key, len(a.writes), l.Worker)
		}
	}
	for i := range keys.Found {
		if at := keys.First + i; at >= 0 && at < len(values) {
			values[at] = &write{client: r.Client, value: keys.Found[i], sent: r.ReadNs[0], acked: r.ReadNs[1]}
		}
	}
	return a.judgeChecks(run, r, keys.First, keys.Found)
}

// add adds to some writes by key that of a worker, whose times are in the ticks of a record; false if
// there is no such key or worker.
func (a *auditor) add(to [][]write, r metrics.AuditRecord, w write, key int32, version, sent, acked uint32) bool {
	if int(key) >= len(a.writes) || key < 0 || w.worker >= len(r.Loaded) {
		return false
	}
	w.client = r.Client
	w.sent, w.acked = r.OriginNs+int64(sent)*r.TickNs, r.OriginNs+int64(acked)*r.TickNs
	if version > 0 {
		w.value = metrics.MakeWriteID(w.client, w.worker, version)
	}
	to[key] = append(to[key], w)
	return true
}

// judge says in words why a key, which was loaded or not, cannot have the value that was
// found; "" if it can.
func (a *auditor) judge(read write, writes []write, loaded bool) string {
	found := read.value
	has := "has " + a.text(found)
	if found == metrics.NoWrite {
		if a.ttl > 0 && a.gone(read, writes, loaded) {
			return ""
		}
		has = "is missing"
	}
	all := writes
	writes = slices.DeleteFunc(slices.Clone(all), func(w write) bool { return w.lost })
	for _, w := range all {
		if w.lost && w.value == found {
			if _, ns := a.replaced(w, writes); ns <= 0 {
				return ""
			}
		}
	}
	switch {
	case len(writes) == 0 && loaded && !a.loaded(found):
		return has + ", want the loaded value: no write of it was acknowledged"
	case len(writes) == 0 && !loaded && found != metrics.NoWrite:
		return has + ", want none: no insert of it was acknowledged"
	case len(writes) == 0:
		return ""
	}
	want := slices.MaxFunc(writes, func(u, v write) int { return cmp.Compare(u.sent, v.sent) })
	when := "which was acknowledged"
	for _, w := range writes {
		switch later, ns := a.replaced(w, writes); {
		case w.value == found && ns <= 0:
			return ""
		case w.value == found:
			want, when = later, fmt.Sprintf("which was sent %s after that was acknowledged", time.Duration(ns))
		case found != metrics.NoWrite && w.client == found.Client() && w.worker == found.Worker():
			want, when = w, "which was sent after it and acknowledged"
		}
	}
	wanted := a.text(want.value)
	if want.value == metrics.NoWrite {
		wanted = fmt.Sprintf("none after the Delete by worker %d of client %d", want.worker, want.client)
	}
	return fmt.Sprintf("%s, want %s, %s: a write is lost, or an old value was read", has, wanted, when)
}

// replaced returns a write that was sent after w was acknowledged, and how long after in
// ns; not above 0 if there is none.
func (a *auditor) replaced(w write, writes []write) (later write, ns int64) {
	for _, u := range writes {
		if after := a.after(u, w); after > ns {
			later, ns = u, after
		}
	}
	return later, ns
}

// loaded reports whether a value is of the load.
func (a *auditor) loaded(v metrics.WriteID) bool {
	if v == metrics.NoWrite || v.Client() >= len(a.records) || v.Worker() >= len(a.records[v.Client()].Loaded) {
		return false
	}
	return v.Version() <= a.records[v.Client()].Loaded[v.Worker()]
}

// after returns the least time in ns between the acknowledgement of v and the send of w;
// not above 0 if w may have been sent before. Processes of one machine share a clock.
// Others' clocks are compared by the bounds on their offsets from the launcher's.
func (a *auditor) after(w, v write) int64 {
	i, j := w.client, v.client
	between := w.sent - v.acked
	if i == j {
		return between
	}
	between -= a.records[i].ErrorNs + a.records[j].ErrorNs
	if clock := a.records[i].Clock; clock != "" && clock == a.records[j].Clock {
		return between
	}
	if !a.comparable(i, j) {
		return 0
	}
	return between - a.bounds[i].MostNs + a.bounds[j].LeastNs
}

// comparable reports whether the distance of two clients' clocks is known.
func (a *auditor) comparable(i, j int) bool {
	clock := a.records[i].Clock
	return i == j || clock != "" && clock == a.records[j].Clock || a.bounds[i] != nil && a.bounds[j] != nil
}

// text returns a value in words.
func (a *auditor) text(v metrics.WriteID) string {
	text := fmt.Sprintf("version %d of worker %d of client %d", v.Version(), v.Worker(), v.Client())
	if a.loaded(v) {
		text += " (the loaded value)"
	}
	return text
}
