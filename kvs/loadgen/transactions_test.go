package loadgen

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/loadgen/transact"
	"kvlab/kvs/service"
	"kvlab/kvs/txn"
	"kvlab/kvs/verdict"
	"kvlab/metrics"
	"kvlab/workload"
)

// attempt is an attempt as a Recorder is told it.
type attempt struct {
	try     int
	outcome txn.Outcome
	ops     []workload.Op
	wrote   []metrics.WriteID
	results []driver.Result
	found   []metrics.WriteID
}

// recorded are a worker's attempts, by the number of their transaction.
type attempts map[uint32][]attempt

func (all attempts) Attempt(r *transact.Round, i int) {
	t, a := r.Of(i), &r.Attempts[i]
	one := attempt{t.Tries, a.Outcome, slices.Clone(t.Ops), slices.Clone(r.Wrote[a.First:a.End]), slices.Clone(r.Results[a.First:a.End]), nil}
	for _, result := range one.results {
		found := metrics.NoWrite
		if a.Outcome == txn.IsCommitted && result.Found {
			found = metrics.WriteID(binary.LittleEndian.Uint64(result.Value[8:]))
		}
		one.found = append(one.found, found)
	}
	all[t.Number] = append(all[t.Number], one)
}

// transacted is a run of transactions on two servers.
type transacted struct {
	*Generator
	stores   []*store
	recorded []attempts // by worker
}

// transactional returns a small, contended run of transactions of three operations.
func transactional(seed uint64) Config {
	c := trialOf(seed)
	c.Workload.Workload, c.Workload.Records, c.Workload.Theta = workload.YCSBA, 200, 0.99
	c.Txn, c.Batch, c.Workers, c.CallTimeout = 3, 16, 4, time.Minute
	return c
}

func startTransacted(t *testing.T, c Config, policy string) *transacted {
	t.Helper()
	p, err := txn.FindPolicy(policy)
	if err != nil {
		t.Fatal(err)
	}
	run := new(transacted)
	run.stores, c.Hosts = newStoresOf(t, 2, "binary", "syncmap")
	for _, s := range run.stores {
		s.service.Policy = p
	}
	run.Generator = connected(t, c)
	for _, w := range run.workers {
		run.recorded = append(run.recorded, attempts{})
		w.txn.Recorder = run.recorded[w.id]
	}
	if err := run.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	run.Secret = 7
	return run
}

// check compares what the run's records and stores have with what its recorders were told.
func (run *transacted) check(t *testing.T, policy string) (aborts uint64) {
	t.Helper()
	c, s := run.config, run.Summary()
	plan, err := workload.New(c.Workload)
	if err != nil {
		t.Fatal(err)
	}
	var commits, unknown uint64
	stamps, last := map[metrics.WriteID]bool{}, map[uint64]attempt{} // by key, the last write as one operation
	for id, all := range run.recorded {
		source := plan.Source(c.place(id))
		for number := uint32(1); int(number) <= len(all); number++ {
			tries := all[number]
			drawn := make([]workload.Op, len(tries[0].ops))
			source.Fill(drawn)
			for i, a := range tries {
				if a.try != i+1 || !slices.Equal(a.ops, drawn) {
					t.Errorf("%s: attempt %d of transaction %d of worker %d is %+v, want %v", policy, i+1, number, id, a, drawn)
				}
				if committed := a.outcome == txn.IsCommitted; committed != (i == len(tries)-1) {
					t.Errorf("%s: attempt %d of %d of transaction %d of worker %d is %d", policy, i+1, len(tries), number, id, a.outcome)
				}
				for k, wrote := range a.wrote {
					if wrote == metrics.NoWrite && a.ops[k].Kind != workload.Delete {
						continue
					}
					if wrote != metrics.NoWrite && stamps[wrote] {
						t.Errorf("%s: two attempts write %s", policy, wrote)
					}
					stamps[wrote] = true
					was, is := last[a.ops[k].Key], a.results[k].Version
					if a.outcome == txn.IsCommitted && (was.wrote == nil || was.results[0].Version <= is) {
						last[a.ops[k].Key] = attempt{wrote: a.wrote[k : k+1], results: a.results[k : k+1]}
					}
				}
			}
			aborts += uint64(len(tries) - 1)
			commits++
		}
		if got, want := s.Digests[id], fmt.Sprintf("%016x", source.Digest()); got != want {
			t.Errorf("%s: worker %d has the digest %s, the stream without transactions %s", policy, id, got, want)
		}
	}
	total := s.Transactions.Total
	if total.Attempts != commits+aborts+unknown || total.Commits != commits || total.Aborted() != aborts || total.Unknown != unknown || total.Single+total.Cross != commits || s.Transactions.Behind != 0 {
		t.Errorf("%s: counts %+v, want %d commits and %d aborts", policy, s.Transactions, commits, aborts)
	}
	keys := newKeys(c.keys())
	for id, write := range last {
		key, hash := keys.key(id)
		var reply kvs.Reply
		reply.Reset()
		run.stores[run.workers[0].router.Server(key, hash)].engine.Apply([]kvs.Op{{Key: key}}, &reply)
		results := reply.Results()
		found := metrics.NoWrite
		if result, err := results.Next(); err == nil && result.Found {
			found = metrics.WriteID(binary.LittleEndian.Uint64(result.Value[8:]))
		}
		if found != write.wrote[0] {
			t.Errorf("%s: key %s has %s, the last committed write is %s", policy, key, found, write.wrote[0])
		}
	}
	for i, peer := range s.Peers {
		if applied := run.stores[i].service.Counts()[c.Node]; peer.Counts != applied {
			t.Errorf("%s: server %d applied %+v, the client counts %+v", policy, i, applied, peer.Counts)
		}
	}
	var services []*service.Service
	for _, s := range run.stores {
		services = append(services, s.service)
	}
	record, err := recordOf(c, run.Generator, services, run.samples(), run.samples(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if v := verdict.Judge(&record); !v.Valid {
		t.Errorf("%s: verdict %s", policy, v)
	}
	return aborts
}

// samples ends the services' samples.
func (run *transacted) samples() (all []*service.Sample) {
	for _, s := range run.stores {
		all = append(all, s.service.Sample())
	}
	return all
}

// Every operation that is drawn is committed once, in its transaction, with every policy and loop.
// What is counted, remembered and stored is what the committed attempts did.
func TestTransactions(t *testing.T) {
	loops := map[string]func(*Config){
		"closed": func(*Config) {},
		"open":   func(c *Config) { c.Rate.OpsPerS = 4_000 },
		"reads":  func(c *Config) { c.Workload.Workload = workload.YCSBB },
		"single": func(c *Config) { c.Txn = 1 },
		"long":   func(c *Config) { c.Txn, c.Batch = 20, 3 },
		"mixed":  func(c *Config) { mixed(c, 0.5, 0.1, 0.1, 0) },
	}
	for _, policy := range []string{"nowait", "waitdie", "woundwait"} {
		for loop, change := range loops {
			if policy != "nowait" && loop != "closed" && !long() {
				continue
			}
			t.Run(policy+" "+loop, func(t *testing.T) {
				t.Parallel()
				seed := rand.Uint64()
				t.Log("seed", seed)
				c := transactional(seed)
				change(&c)
				run := startTransacted(t, c, policy)
				if err := within(t, "the run", func() error { return run.measureOps(1000) }); err != nil {
					t.Fatal(err)
				}
				if aborts := run.check(t, policy); aborts == 0 && loop == "closed" {
					t.Errorf("no attempt was aborted")
				}
			})
		}
	}
}

// In steady state a worker allocates nothing for a transaction of reads, nor for its operations: the
// engine allocates for writes.
func TestTransactionAllocations(t *testing.T) {
	c := transactional(1)
	c.Workload.Workload = workload.YCSBC
	c.Workers, c.Batch, c.Transport, c.Engine, c.Hosts = 1, 100, driver.InProcess, "mutex", nil
	g := connected(t, c)
	if err := g.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	w := g.workers[0]
	w.txn.Most = c.Batch
	s := newSchedule()
	s.decide(time.Now(), time.Now().Add(time.Hour), time.Second)
	r := &w.rounds[0]
	round := func() {
		r.begin()
		w.txn.Begin(r.begun)
		w.drawTransactions(r, r.begun, s, nil, nil)
		if len(w.txn.Attempts) == 0 {
			return
		}
		if err := w.transact(r, s.at); err != nil {
			t.Error(err)
		}
	}
	for range 200 {
		round()
	}
	if n := testing.AllocsPerRun(200, round); n >= 10 {
		t.Errorf("%v allocations for a round of %d transactions", n, c.Batch)
	}
}
