package loadgen

import (
	"context"
	"fmt"
	"slices"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/metrics"
	"kvlab/workload"
)

// nullLoad is the number of records that a worker stores per server when no server has
// a store. Each of these records can give a server its value for all replies.
const nullLoad = 64

// share returns the half-open range of the records that this worker loads: its share of the
// client's records, or only the beginning of it if the servers have no store.
func (w *worker) share(c Config) (first, last uint64) {
	first, last = c.place(w.id).Part(c.Workload.Records)
	if !slices.ContainsFunc(w.servers, func(s driver.Server) bool { return !s.NoStore }) {
		last = min(last, first+nullLoad*uint64(len(w.servers)))
	}
	return first, last
}

// load does one kind of operation on each record of the worker's share, and compares
// the values that it reads in full. The layout of its errors takes the range.
func (w *worker) load(ctx context.Context, c Config, kind workload.Kind, layout string) error {
	first, last := w.share(c)
	w.checker.Every, w.checker.Until = 1, 1
	defer func() { w.checker.Every, w.checker.Until = c.Verify, c.Verify }()
	err := w.sweep(ctx, c, kind, first, last)
	switch lost := sum(w.counts).Misses; {
	case err != nil:
	case lost > 0 && w.noMiss > 0 && now() >= w.noMiss:
		err = fmt.Errorf("%d of them are not there: they were not read before they expired; want a longer -ttl than %v, or fewer -records", lost, c.TTL)
	case lost > 0:
		err = fmt.Errorf("%d of them are not there: lost, or a key's operations go to different servers", lost)
	case w.verify.Failures > 0:
		err = fmt.Errorf("%d are wrong; the first: %s", w.verify.Failures, w.verify.First)
	default:
		return nil
	}
	return fmt.Errorf(layout, first, last, err)
}

// loadFrame is the approximate size in bytes of a call of the load phase. Batches of
// the window's size would take a megabyte each, as every operation stores a value. The
// buffers of 64 workers would then miss every cache and touch new pages, and a load of
// 10^6 records would be a quarter slower.
const loadFrame = 256 << 10

// sweep does one kind of operation on each record in [first, last).
func (w *worker) sweep(ctx context.Context, c Config, kind workload.Kind, first, last uint64) error {
	inLoad := func(moment) (metrics.Phase, *span) { return metrics.Load, nil }
	size := uint64(min(c.Batch*c.each(), max(1, loadFrame/c.perOp())) * c.Servers())
	r := &w.rounds[0]
	if kind == workload.Update {
		// In one step: doubling would copy much of a short load and produce as much
		// garbage.
		for i := range r.exchanges {
			r.exchanges[i].batch.Grow(int(min(size, last-first)) / c.Servers() * c.perOp())
		}
	}
	for id := first; id < last; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		r.begin()
		r.empty()
		for stop := min(last, id+size); id < stop; {
			n := int(min(stop-id, drawn))
			for i := range w.block.ops[:n] {
				w.block.found[i] = w.plan.Loaded(id + uint64(i))
				w.block.ops[i] = workload.Op{Kind: kind, Key: id + uint64(i), Limit: w.block.found[i].Size}
			}
			w.add(r, w.block.ops[:n])
			id += uint64(n)
		}
		w.send(r)
		if err := w.finish(r, inLoad); err != nil {
			return err
		}
	}
	return nil
}

// leftProbes is the number of records, the first that the workload inserts, that CheckLeft
// looks for. The workers insert in turn, so an earlier run that inserted as many has left some
// of these.
const leftProbes = 256

// CheckLeft returns an error if a foreign store that ran before holds records of an earlier
// run that the workload will insert: reads would find them, and the audit would not know them.
// The first client looks for them after Connect, unless the store says that it is empty.
func (g *Generator) CheckLeft(ctx context.Context) error {
	c := g.config
	plan, err := workload.New(c.Workload)
	if err != nil || plan.Share(workload.Insert) == 0 || c.Fresh || c.Index > 0 || c.Transport == driver.TCP || c.Transport == driver.InProcess {
		return err
	}
	held := uint64(0)
	counter, counts := g.driver.(driver.Counter)
	for server := range c.Servers() {
		if !counts || c.Settings[driver.CountsSetting] == driver.NoCounts {
			break
		}
		s, err := counter.Counts(ctx, server)
		if err != nil {
			return fmt.Errorf("ask for the keys that the store holds: %w", err)
		}
		if held += s.Records; server == c.Servers()-1 && held == 0 {
			return nil
		}
	}
	w, keys := g.workers[0], newKeys(c.keys())
	calls := make([]kvs.Call, c.Servers())
	for i := range calls {
		calls[i].Batch, calls[i].Reply = new(kvs.Batch), new(kvs.Reply)
	}
	for id := range uint64(leftProbes) {
		key, hash := keys.key(c.Workload.Records + id)
		calls[w.router.Server(key, hash)].Batch.Get(key)
	}
	found := uint64(0)
	for i := range calls {
		w.conns[i].Send(&calls[i])
		if err := w.conns[i].Wait(&calls[i]); err != nil {
			return &CallError{w.servers[i].Name, calls[i].Batch.Len(), err, i}
		}
		found += uint64(calls[i].Reply.Hits)
	}
	if found == 0 {
		return nil
	}
	first, _ := keys.key(c.Workload.Records)
	return fmt.Errorf("the store holds keys of an earlier run (%d of the first %d from %s on, which this workload inserts; %d keys in all): want an empty store (FLUSHALL, flush_all, or etcdctl del --prefix), or --key-prefix with a word that no run has had yet",
		found, leftProbes, first, held)
}
