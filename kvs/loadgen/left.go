package loadgen

import (
	"context"
	"fmt"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/workload"
)

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
