package loadgen

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/profile"
)

// untilOps runs all clients of a run that ends with its operations, on fresh servers of an engine,
// and returns their summaries and how long the launcher's part let the window be.
func untilOps(t *testing.T, c Config, servers int, engine string) (all []metrics.Summary, length time.Duration) {
	t.Helper()
	_, c.Hosts = newStoresOf(t, servers, c.Codec, engine)
	var generators []*Generator
	for c.Index = range c.Clients {
		g := connected(t, c)
		if err := g.Load(context.Background()); err != nil {
			t.Fatal(err)
		}
		if g.Secret = 7; g.Draw(context.Background()) != nil {
			t.Fatal("no first rounds")
		}
		generators = append(generators, g)
	}
	var mu sync.Mutex
	var asked, clients sync.WaitGroup
	asked.Add(c.Clients)
	begins := time.Now()
	for _, g := range generators {
		g.Begins = begins
		g.Settle = func(_ context.Context, last time.Duration) (time.Time, time.Duration, error) {
			mu.Lock()
			length = max(length, last)
			mu.Unlock()
			asked.Done()
			asked.Wait()
			return time.Time{}, length, nil
		}
		clients.Go(func() {
			var entered []metrics.Phase
			err := within(t, "Measure", func() error {
				return g.Measure(context.Background(), func(p metrics.Phase) error { entered = append(entered, p); return nil })
			})
			if err != nil || fmt.Sprint(entered) != "[warmup window drain]" {
				t.Errorf("%v, phases %v", err, entered)
			}
		})
	}
	clients.Wait()
	for _, g := range generators {
		if _, err := g.Audit(context.Background()); err != nil {
			t.Error(err)
		}
		all = append(all, g.Summary())
	}
	return all, length
}

// A run that ends with its operations has exactly as many, whatever its clients, workers, batches
// and loop are: each worker draws its share of them, and all are answered in the window, which
// closes with the last reply. Two stores get the same operations.
func TestOps(t *testing.T) {
	seeds := uint64(4)
	if os.Getenv("KVLAB_LONG") == "1" {
		seeds = 40
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 47))
		c := small()
		c.Clients, c.Workers, c.Batch, c.InFlight, c.WarmUp, c.Window = 1+r.IntN(3), 1+r.IntN(5), 1+r.IntN(200), 1+r.IntN(3), 0, 0
		c.Workload.Records, c.Workload.Seed, c.Workload.Workload = 500, seed, []string{workload.YCSBA, workload.YCSBB, workload.YCSBF}[r.IntN(3)]
		n := c.Clients*c.Workers + r.IntN(20_000)
		if seed%2 == 1 {
			n, c.InFlight, c.Txn, c.Batch = min(n, 3000), 1, 1+r.IntN(5), 1+r.IntN(50)
		}
		c.Workload.Ops = uint64(n)
		if r.IntN(2) == 0 {
			c.Rate, c.InFlight = profile.Rate{OpsPerS: 10 * float64(n)}, 1
		}
		if r.IntN(4) == 0 {
			c.Window = time.Hour // it comes later
		}
		servers := 1 + r.IntN(3)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			first, length := untilOps(t, c, servers, "mutex")
			second, _ := untilOps(t, c, servers, "btree")
			plan, err := workload.New(c.Workload)
			if err != nil {
				t.Fatal(err)
			}
			var inWindow, drawn, offered uint64
			for i, s := range first {
				if !slices.Equal(s.Digests, second[i].Digests) {
					t.Errorf("client %d: digests %v on one store, %v on the other", i, s.Digests, second[i].Digests)
				}
				last := 0.0
				for k, w := range s.Workers {
					place := workload.Place{Node: i, Nodes: c.Clients, Worker: k, Workers: c.Workers}
					source := plan.Source(place)
					source.Fill(make([]workload.Op, plan.Ops(place)))
					if digest := hex(source.Digest()); w.Drawn != plan.Ops(place) || s.Digests[k] != digest || source.Left() != 0 {
						t.Errorf("worker %d of client %d drew %d operations with the digest %s, its share has %d with %s", k, i, w.Drawn, s.Digests[k], plan.Ops(place), digest)
					}
					drawn, last, offered = drawn+w.Drawn, max(last, w.Rounds.EndS), offered+w.Rounds.Offered
				}
				if s.WindowLengthS != length.Seconds() || last > s.WindowLengthS || c.Clients == 1 && s.WindowLengthS > last+1e-8 {
					t.Errorf("client %d had its last reply after %.9f s, its window has %.9f s and the common one %v", i, last, s.WindowLengthS, length)
				}
				if o := s.Offered; o != nil && (o.DueNs <= 0 || o.DueNs > o.ClosesNs || o.ClosesNs != int64(length)) {
					t.Errorf("client %d offered %+v in %v", i, o, length)
				}
				inWindow += s.InWindow.Ops()
			}
			if want := uint64(n); inWindow != want || drawn != want || c.Rate.Open() && offered != want {
				t.Errorf("%+v: %d operations in the window, %d drawn, %d due, want %d", c, inWindow, drawn, offered, want)
			}
		})
	}
}

// If -secs are over first, each worker has done the first part of its share.
func TestOpsUntilSecs(t *testing.T) {
	c := small()
	c.WarmUp, c.Window, c.Workload.Ops = 0, 50*time.Millisecond, 1e12
	all, length := untilOps(t, c, 2, "mutex")
	if s := all[0]; length != c.Window || s.WindowLengthS != 0.05 || s.InWindow.Ops() == 0 || s.Workers[0].Rounds.EndS != 0 {
		t.Errorf("%d operations in a window of %v s, want some in %v", s.InWindow.Ops(), s.WindowLengthS, c.Window)
	}
}

// The call of a spot alone has no operation, and so none with the longest latency.
func TestStampsOfSpot(t *testing.T) {
	var s stamps
	s.add(time.Millisecond, 2)
	want := s
	if s.add(time.Second, 0); s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
}
