package loadgen

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/value"
	"kvlab/metrics"
	"kvlab/metrics/clock"
	"kvlab/workload"
)

// The final audit reads a sample of the records after the drain. A secret that the servers
// do not know selects them, at most metrics.AuditEach of each range of popularity ranks that
// begins with a power of two (TestAuditPower). If the workload inserts, the secret also
// selects inserted records (workload.Plan.SampleInserts).

// auditSpan is a time longer than any run's unplanned part, and endsSpan than a run that ends
// with its operations. Times are kept as 32-bit numbers of ticks, which are as short as the
// run's length allows: 1 us in a short run.
const (
	auditSpan = time.Hour
	endsSpan  = 7 * 24 * time.Hour
)

// audited is the set of keys that are audited. It is immutable, and all workers of a
// client share it.
type audited struct {
	ids    []uint64     // of the audited records, by number
	table  []auditedKey // open addressing by hash
	shift  int
	used   []uint64 // a bit for each slot of table, set if a key's search begins there
	origin moment
	tick   time.Duration

	spots     []uint32 // numbers of the keys that are read in the window
	spotShare float64  // the share of the window before they are read

	loadedVersion func(client, worker int) uint32 // the last version that a worker loaded
}

// auditedKey is a slot of the table: a key's hash, and its number plus 1; 0 in an empty slot.
type auditedKey struct {
	hash        uint64
	numberPlus1 uint32
}

// lastWrite is a worker's last acknowledged write of an audited key; version 0 is a Delete.
// It was sent no earlier than its first tick and acknowledged no later than its second one,
// which is 0 only without a write.
type lastWrite struct{ version, sent, acked uint32 }

// auditedWrite is a write in a batch, of a key that mightContain accepts; version 0 is a
// Delete.
type auditedWrite struct {
	hash    uint64
	version uint32
}

func newAudited(c Config, plan *workload.Plan, each int, secret uint64) *audited {
	longest := 2*c.WarmUp + c.Window + auditSpan
	if c.Window == 0 {
		longest = endsSpan
	}
	a := &audited{origin: now(), tick: longest>>32 + 1}
	a.loadedVersion = func(client, worker int) uint32 {
		first, last := workload.Place{Node: client, Nodes: c.Clients, Worker: worker, Workers: c.Workers}.Part(c.Workload.Records)
		return uint32(last - first)
	}
	keys := newKeys(c.keys())
	for _, rank := range plan.Sample(secret, each) {
		a.ids = append(a.ids, plan.Key(rank))
	}
	a.ids = append(a.ids, plan.SampleInserts(secret)...)
	width := bits.Len(uint(4 * len(a.ids)))
	a.table, a.shift, a.used = make([]auditedKey, 1<<width), 64-width, make([]uint64, (1<<width+63)/64)
	for number, id := range a.ids {
		_, hash := keys.key(id)
		at := a.slot(hash)
		a.used[at/64] |= 1 << (at % 64)
		for a.table[at].numberPlus1 != 0 {
			at = (at + 1) % len(a.table)
		}
		a.table[at] = auditedKey{hash, uint32(number) + 1}
	}
	return a
}

func (a *audited) slot(hash uint64) int { return int(hash * 0x9e3779b97f4a7c15 >> a.shift) }

// mightContain returns 1 for the hash of an audited key, and 0 for most others.
func (a *audited) mightContain(hash uint64) int {
	slot := uint(a.slot(hash))
	return int(a.used[slot/64] >> (slot % 64) & 1)
}

// find returns the number of the key with a hash; false for most hashes.
func (a *audited) find(hash uint64) (number uint32, ok bool) {
	for at := a.slot(hash); ; at = (at + 1) & (len(a.table) - 1) {
		switch key := &a.table[at]; {
		case key.numberPlus1 == 0:
			return 0, false
		case key.hash == hash:
			return key.numberPlus1 - 1, true
		}
	}
}

// ticks returns the ticks until t, rounded down.
func (a *audited) ticks(t moment) uint32 { return uint32((t - a.origin) / a.tick) }

// remember keeps the writes of an exchange as the worker's last ones. The reply came at
// came. The calls of a worker to one server are answered in order.
func (w *worker) remember(x *exchange, came moment) {
	if len(x.written) == 0 {
		return
	}
	sent, acked := w.audited.ticks(x.sent), w.audited.ticks(came)+1
	for _, written := range x.written {
		if number, ok := w.audited.find(written.hash); ok {
			w.last[number] = lastWrite{written.version, sent, acked}
		}
	}
}

// prepare selects the keys of -linearizable and of the audit. It is called after the load.
// There is no audit without a secret, or if the servers have no store or share this
// process, or no reply is checked.
func (g *Generator) prepare() error {
	plan, err := workload.New(g.config.Workload)
	if err != nil {
		return err
	}
	for _, w := range g.workers {
		w.loadedVersion = uint32(w.writer)
		w.owner.Loaded = w.loadedVersion
	}
	if (g.config.Linearizable || g.config.Serializable) && g.slices == nil {
		g.record(plan)
	}
	hasStore := slices.ContainsFunc(g.workers[0].servers, func(s driver.Server) bool { return !s.NoStore })
	if g.Secret == 0 || !hasStore || g.config.Repeat || g.config.Transport == driver.InProcess || plan.Replays() {
		return nil
	}
	g.audited = newAudited(g.config, plan, metrics.AuditEach(g.config.Linearizable), g.Secret)
	for _, w := range g.workers {
		w.ties = make(map[uint32][]metrics.LostWrite)
		w.audited, w.last, w.seen = g.audited, make([]lastWrite, len(g.audited.ids)), make([]metrics.WriteID, len(g.audited.ids))
	}
	g.shareSpots(g.Secret)
	return nil
}

// Audit reads this client's share of the audited keys, and returns them with the workers'
// last writes; nil without an audit. It is called after the drain of all clients.
func (g *Generator) Audit(ctx context.Context) (*metrics.AuditRecord, error) {
	a := g.audited
	if g.workers[0].replays && !g.config.Repeat {
		return nil, g.each(ctx, func(ctx context.Context, w *worker) error { return w.readRest(ctx, g.config) })
	}
	if a == nil {
		return nil, nil
	}
	first, last := workload.Place{Node: g.config.Index, Nodes: g.config.Clients, Workers: 1}.Part(uint64(len(a.ids)))
	found := make([]metrics.WriteID, last-first)
	begun := now()
	err := g.each(ctx, func(ctx context.Context, w *worker) error {
		from, to := g.config.place(w.id).Part(uint64(len(a.ids)))
		return w.readAudited(ctx, g.config, a.ids[from:to], found[from-first:to-first])
	})
	if err != nil {
		return nil, err
	}
	ended, clock := now(), clock.New()
	at := func(t moment) int64 { return clock.Ns(started.Add(t)) }
	record := &metrics.AuditRecord{
		Client: g.config.Index, Each: metrics.AuditEach(g.config.Linearizable),
		Clock: clock.ID, ErrorNs: clock.ErrorNs, OriginNs: at(a.origin), TickNs: int64(a.tick),
		LoadNs: [2]int64{at(g.stored[0]), at(g.stored[1])}, ReadNs: [2]int64{at(begun), at(ended)},
	}
	for _, w := range g.workers {
		record.Loaded = append(record.Loaded, w.loadedVersion)
		record.Checks += w.auditChecks
	}
	numbers := make([]uint32, len(a.ids))
	for i := range numbers {
		numbers[i] = uint32(i)
	}
	keys := metrics.AuditKeys{First: int(first), Found: found}
	keys.AuditWrites = g.lastOf(numbers, func(w *worker, i int) lastWrite { return w.last[i] })
	keys.Spots, keys.Before = g.spots()
	for _, w := range g.workers {
		keys.Lost = append(keys.Lost, w.lost...)
		for _, ties := range w.ties {
			keys.Lost = append(keys.Lost, ties...)
		}
	}
	return record, record.Pack(keys)
}

// lastOf returns the workers' last writes of some keys. It leaves out a write that was
// acknowledged before another one was sent. of returns a worker's last write of key i of
// numbers.
func (g *Generator) lastOf(numbers []uint32, of func(w *worker, i int) lastWrite) (all metrics.AuditWrites) {
	for i, number := range numbers {
		latest := uint32(0) // the latest send of any write
		for _, w := range g.workers {
			latest = max(latest, of(w, i).sent)
		}
		for _, w := range g.workers {
			if l := of(w, i); l.acked != 0 && l.acked >= latest {
				all.Keys, all.Workers = append(all.Keys, int32(number)), append(all.Workers, uint16(w.id))
				all.Versions = append(all.Versions, l.version)
				all.Sent, all.Acked = append(all.Sent, l.sent), append(all.Acked, l.acked)
			}
		}
	}
	return all
}

// readRest reads the keys of the worker's part of a trace, metrics.ReplayRest at most, and checks
// that they have what its last operation left.
func (w *worker) readRest(ctx context.Context, c Config) error {
	before := slices.Clone(w.counts)
	defer func() {
		for i := range w.counts {
			w.auditCounts[i] = w.auditCounts[i].Add(w.counts[i].Sub(before[i]))
		}
	}()
	drain := func(moment) (metrics.Phase, *span) { return metrics.Drain, nil }
	w.checker.Every, w.checker.Until = min(1, c.Verify), 1 // all in full
	ops, found := w.source.Rest(metrics.ReplayRest)
	r := &w.rounds[0]
	for len(ops) > 0 && ctx.Err() == nil {
		r.begin()
		r.empty()
		n := min(drawn, c.Batch, len(ops))
		copy(w.block.found[:], found[:n])
		w.add(r, ops[:n])
		ops, found = ops[n:], found[n:]
		w.send(r)
		if err := w.finish(r, drain); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// unexpected counts a result of a replay as a failure, unless it is what the worker's own
// operations have left under the key. A null server gives any value.
func (w *worker) unexpected(x *exchange, i int, result kvs.Result, null bool, t *replyCheck) bool {
	w.checker.Size = max(value.HeaderLen, len(result.Value))
	kind := x.kinds[i]
	if null || w.checker.Every == VerifyNone || kind != kvs.Delete && !returnsValue[kind] {
		return false
	}
	err := w.owner.Check(result.Value, result.Found || kind == kvs.Delete && !result.Read, x.found[i])
	if err != nil {
		t.Failures++
		t.First = cmp.Or(t.First, fmt.Sprintf("worker %d: %s: %v", w.id, kind, err))
	}
	return err != nil
}

// readAudited reads records and sets found to their values' writers and versions.
func (w *worker) readAudited(ctx context.Context, c Config, ids []uint64, found []metrics.WriteID) error {
	w.history, w.audited = nil, nil
	before := slices.Clone(w.counts)
	w.mu.Lock()
	for i := range w.counts {
		w.counts[i] = w.counts[i].Add(w.rechecked[i])
	}
	w.bytes = w.bytes.Add(w.recheckedBytes)
	w.mu.Unlock()
	defer func() {
		for i := range w.counts {
			w.auditCounts[i] = w.auditCounts[i].Add(w.counts[i].Sub(before[i]))
		}
	}()
	w.checker.Every, w.checker.Until = min(1, c.Verify), 1 // all in full
	size := min(drawn, c.Batch)
	r := &w.rounds[0]
	for at := 0; at < len(ids); at += size {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		r.begin()
		r.empty()
		n := min(size, len(ids)-at)
		for i := range n {
			w.block.ops[i] = workload.Op{Kind: workload.Read, Key: ids[at+i]}
		}
		w.add(r, w.block.ops[:n])
		w.send(r)
		if err := w.finishAudit(r, found[at:at+n]); err != nil {
			return err
		}
	}
	return nil
}

// finishAudit finishes a round that reads audited keys.
func (w *worker) finishAudit(r *round, found []metrics.WriteID) error {
	drain := func(moment) (metrics.Phase, *span) { return metrics.Drain, nil }
	r.phase, r.window = drain(r.begun)
	for i := range r.exchanges {
		x := &r.exchanges[i]
		if x.batch.Len() == 0 {
			continue
		}
		err := w.conns[i].Wait(&x.call)
		results := x.reply.Results()
		for k := range found {
			if len(r.exchanges) > 1 && int(w.block.owners[k]) != i || err != nil {
				continue
			}
			result, malformed := results.Next()
			if err = malformed; err == nil && result.Found && len(result.Value) >= value.HeaderLen {
				found[k] = metrics.WriteID(binary.LittleEndian.Uint64(result.Value[8:]))
				w.auditChecks += binary.LittleEndian.Uint64(result.Value[16:])
			}
		}
		if err == nil {
			r.arrived(x)
			err = w.take(i, r, drain)
		}
		if err != nil {
			return &CallError{w.servers[i].Name, x.batch.Len(), err, i}
		}
	}
	r.inFlight = false
	return nil
}
