package txn

import (
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/history/serial"
	"kvlab/metrics"
)

// play lets some workers work at the same time, and returns them.
func (c *cluster) play(seed uint64, workers int, prepare func(*worker)) (all []*worker) {
	var group sync.WaitGroup
	for id := range workers {
		w := c.worker(id, seed)
		if prepare != nil {
			prepare(w)
		}
		all = append(all, w)
		group.Go(func() { w.work(3, 1+int(seed%4), 4) })
	}
	group.Wait()
	return all
}

// history puts together what workers recorded.
func (c *cluster) history(all []*worker) *serial.History {
	h := &serial.History{}
	for _, key := range c.keys {
		h.Keys = append(h.Keys, string(key))
	}
	for _, w := range all {
		h.Attempts = append(h.Attempts, w.attempts...)
		h.Spans = append(h.Spans, metrics.WorkerSpan{Worker: w.id, Last: w.writes})
	}
	return h
}

// resolver returns a resolver of somebody with a clock that says now.
func (c *cluster) resolver(now time.Duration) *Resolver {
	var reply kvs.Reply
	return &Resolver{Owner: 1 << 20, Servers: len(c.tables), Call: func(server int, batch *kvs.Batch) (*kvs.Reply, error) {
		reply.Reset()
		_, err := c.tables[server].Execute(batch, &reply, now)
		return &reply, err
	}}
}

// settle resolves overdue attempts, as a client does after the lease, and returns how many were
// committed and aborted.
func (c *cluster) settle(now time.Duration) (commits, aborts int) {
	for server := range c.tables {
		committed, err := c.resolver(now).Settle(c.overdue(server, now))
		if err != nil {
			c.t.Error(err)
		}
		for _, commit := range committed {
			if aborts++; commit {
				aborts, commits = aborts-1, commits+1
			}
		}
	}
	return commits, aborts
}

// overdue returns the attempts that a server lists.
func (c *cluster) overdue(server int, now time.Duration) []Attempt {
	all, err := c.resolver(now).Overdue(server)
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

// free fails the test unless no lock is held.
func (c *cluster) free() {
	for server, t := range c.tables {
		for word := range t.words {
			if w := t.words[word].Load(); w>>versionBits != 0 {
				c.t.Fatalf("server %d: word %d is locked: %x", server, word, w)
			}
		}
		for i := range t.stripes {
			if s := &t.stripes[i]; len(s.holders)+len(s.waiters) > 0 {
				c.t.Fatalf("server %d: %+v hold and %+v wait", server, s.holders, s.waiters)
			}
		}
	}
}

func rounds(t *testing.T, n int) (seed uint64, rounds int) {
	seed = rand.Uint64()
	t.Logf("seed %d", seed)
	if os.Getenv("KVLAB_LONG") == "1" {
		n *= 20
	}
	return seed, n
}

// Whatever many workers do at the same time is strictly serializable, by each policy, and the
// tallies are what they committed.
func TestSerializable(t *testing.T) {
	for _, policy := range policies {
		t.Run(policy.name, func(t *testing.T) {
			seed, n := rounds(t, 100)
			commits, cross, refused := 0, 0, map[kvs.Status]int{}
			for i := range n {
				c := newCluster(t, policy, 1+i%3, 6, 2+i%5)
				all := c.play(seed+uint64(i), 5, nil)
				h := c.history(all)
				if f := serial.Check(h); f != nil {
					t.Fatalf("seed %d: %s", seed+uint64(i), f.Why)
				}
				c.free()
				var got [kvs.Kinds]uint64
				for _, w := range all {
					for kind, n := range w.tally.Ops {
						got[kind] += n
					}
					for status, n := range w.refused {
						refused[status] += n
					}
					cross += int(w.tally.Parts)
				}
				some, want := commitsOf(h)
				if commits += some; got != want {
					t.Fatalf("the tallies are %v, the workers' commits %v", got, want)
				}
			}
			t.Logf("%d commits, %d parts of several servers, refused %v", commits, cross, refused)
			if len(refused) == 0 || cross == 0 {
				t.Error("nothing was refused, or no transaction had two servers")
			}
		})
	}
}

// commitsOf returns how many attempts and operations of each kind a history says are committed.
func commitsOf(h *serial.History) (attempts int, ops [kvs.Kinds]uint64) {
	for _, a := range h.Attempts {
		if a.Outcome != serial.Committed {
			continue
		}
		attempts++
		for _, o := range a.Ops {
			switch {
			case o.Reads && o.Wrote != metrics.NoWrite:
				ops[kvs.ReadModifyWrite]++
			case o.Reads:
				ops[kvs.Get]++
			default:
				ops[kvs.Put]++
			}
		}
	}
	return attempts, ops
}

// Workers that die leave no lock and no half commit once the lease is over.
func TestDeadWorkers(t *testing.T) {
	for _, policy := range policies {
		t.Run(policy.name, func(t *testing.T) {
			seed, n := rounds(t, 100)
			commits, aborts := 0, 0
			for i := range n {
				c := newCluster(t, policy, 2+i%2, 6, 2+i%5)
				all := c.play(seed+uint64(i), 4, func(w *worker) { w.mortal = true })
				if overdue := c.overdue(0, 0); len(overdue) > 0 {
					t.Fatalf("overdue within the lease: %+v", overdue)
				}
				some, others := c.settle(c.now() + Lease)
				commits, aborts = commits+some, aborts+others
				c.free()
				reader := c.worker(9, seed)
				for key := range c.keys {
					reader.number++
					reader.round([]serial.Attempt{{Worker: 9, Number: uint32(reader.number), Ops: []serial.Op{{Key: uint32(key), Reads: true}}}})
				}
				if len(reader.refused) > 0 {
					t.Fatalf("seed %d: reads were refused: %v", seed+uint64(i), reader.refused)
				}
				if f := serial.Check(c.history(append(all, reader))); f != nil {
					t.Fatalf("seed %d: %s", seed+uint64(i), f.Why)
				}
			}
			if t.Logf("settled: %d commits, %d aborts", commits, aborts); commits == 0 || aborts == 0 {
				t.Error("only one decision occurred")
			}
		})
	}
}

// Coordinators that break the rules are found.
func TestFaults(t *testing.T) {
	for name, fault := range map[string]func(*worker){
		"a transaction in two halves":  func(w *worker) { w.halves = true },
		"a commit of what was refused": func(w *worker) { w.greedy = true },
	} {
		t.Run(name, func(t *testing.T) {
			seed, n := rounds(t, 100)
			found := map[serial.Anomaly]int{}
			for i := range n {
				c := newCluster(t, policies[0], 2, 6, 10)
				if f := serial.Check(c.history(c.play(seed+uint64(i), 5, fault))); f != nil {
					found[f.Anomaly]++
				}
			}
			if t.Logf("%d histories: %v", n, found); len(found) == 0 {
				t.Error("no history shows it")
			}
		})
	}
}
