package loadgen

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/verdict/stages"
	"kvlab/metrics"
	"kvlab/metrics/latency"
	"kvlab/workload"
	"kvlab/workload/profile"
)

// spell is a store whose calls take a time that changes, from the window's opening on.
type spell struct {
	kvs.Engine
	opened  atomic.Int64 // a moment; 0: not yet
	service func(since time.Duration) time.Duration

	mu      sync.Mutex
	applied []time.Duration // when, after the opening; guarded by mu
}

func (s *spell) Apply(ops []kvs.Op, reply *kvs.Reply) {
	if opened := s.opened.Load(); opened > 0 {
		time.Sleep(s.service(now() - time.Duration(opened)))
		s.mu.Lock()
		s.applied = append(s.applied, now()-time.Duration(opened))
		s.mu.Unlock()
	}
	s.Engine.Apply(ops, reply)
}

// staged runs a rate of stages on a store, and returns the run with its seconds' latencies, and when
// the store answered.
func staged(t *testing.T, rate string, seed uint64, service func(time.Duration) time.Duration) (metrics.Run, *latency.Set, []time.Duration) {
	t.Helper()
	c := open(1)
	c.Batch, c.Workload.Records, c.Workload.Seed = 1, 50, seed
	if err := c.Rate.Set(rate); err != nil {
		t.Fatal(err)
	}
	c.Window, _ = c.Rate.Fit(0, false)
	slow := &spell{Engine: engine.NewMutex(), service: service}
	c.Hosts = []string{newStore(t, "server0", "binary", slow).addr}
	g := connected(t, c)
	if err := g.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	set, ended, collected := latency.NewSet(), make(chan struct{}), make(chan error)
	collect := func(from time.Duration) (to time.Duration, err error) { // as a client does
		to = Clock()
		all, err := g.Latency().Collect(0, (to - from).Seconds())
		stage := g.Stage(from, Clock())
		for _, h := range all {
			if h.Stage = stage; err == nil {
				err = set.Add(metrics.Record{Node: "client0", Role: metrics.Client, Time: time.Now(), Histogram: &h})
			}
		}
		return to, err
	}
	go func() {
		from, err := time.Duration(0), error(nil)
		for err == nil {
			select {
			case <-time.After(time.Second):
				from, err = collect(from)
			case <-ended:
				_, err = collect(from)
				collected <- err
				return
			}
		}
		<-ended
		collected <- err
	}()
	err := within(t, "Measure", func() error {
		return g.Measure(context.Background(), func(phase metrics.Phase) error {
			if phase == metrics.Window {
				slow.opened.Store(int64(now()))
			}
			return nil
		})
	})
	close(ended)
	if more := <-collected; err != nil || more != nil {
		t.Fatal(err, more)
	}
	summary := g.Summary()
	run := metrics.Run{Workload: metrics.Settings{"rate": c.Rate.String()}, Latency: set.Quantiles(),
		Nodes: []metrics.RunNode{{Name: "client0", Role: metrics.Client, Summary: &summary}}}
	return run, set, slow.applied
}

// dues draws again when the operations of 4 workers are due in the window, after its opening.
func dues(run metrics.Run, seed uint64) (all []time.Duration) {
	o := run.Nodes[0].Summary.Offered
	course, opens := profile.Parsed(run.Workload.Rate()).Course(o.RunOpsPerS), time.Duration(o.OpensNs)
	var due [1]time.Duration
	for worker := range 4 {
		a := workload.NewArrivals(workload.Poisson, course.First(), seed, workload.Place{Nodes: 1, Worker: worker, Workers: 4})
		for a.Follow(course, opens); a.Due(time.Duration(o.ClosesNs)-1, due[:]) == 1; {
			if due[0] >= opens {
				all = append(all, due[0]-opens)
			}
		}
	}
	slices.Sort(all)
	return all
}

// The operations of each stage are those that its workers' arrivals draw again, and all are
// answered.
func TestStagesOfALoad(t *testing.T) {
	t.Parallel()
	run, set, _ := staged(t, "2k@200ms,6k..1k@100ms,2k@300ms", 3, func(time.Duration) time.Duration { return 0 })
	run.Stages, _ = stages.Of(run, set)
	if f := stages.Judge(run); f.Outcome != metrics.CheckPassed {
		t.Errorf("%+v", f)
	}
	want := make([]uint64, 3)
	for _, at := range dues(run, 3) {
		want[profile.Parsed(run.Workload.Rate()).Stage(at, at)-1]++
	}
	for i, s := range run.Nodes[0].Summary.Offered.Stages {
		if s.Due != want[i] || s.Answered == 0 {
			t.Errorf("stage %d: %+v, want %d due", i+1, s, want[i])
		}
	}
}

// A store that is slow for two seconds after a burst has drained when no more of the operations that
// were due by their seed lack its answer than before the burst, and has recovered then. One that
// stays slow is named. Ten of each; KVLAB_LONG=1 runs them. On a machine that is too busy for the
// first store to drain, it is named too.
func TestRecoveryFromABurst(t *testing.T) {
	if os.Getenv("KVLAB_LONG") != "1" {
		t.Skip("KVLAB_LONG=1 runs it: it takes some minutes")
	}
	const ms, before, ended, last = time.Millisecond, 8 * time.Second, 9 * time.Second, 16 * time.Second
	const room, slots = 2 * 4, 333 // each of 4 workers has a call in flight, in either count
	slowUntil := func(end, d time.Duration) func(time.Duration) time.Duration {
		return func(since time.Duration) time.Duration {
			if since > ended && since < end {
				return d
			}
			return ms
		}
	}
	for name, service := range map[string]func(time.Duration) time.Duration{
		"recovers":   slowUntil(ended+2*time.Second, 4*ms),
		"stays slow": slowUntil(time.Hour, 9*ms/2),
	} {
		for seed := range uint64(10) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				t.Parallel()
				run, set, applied := staged(t, "200@8s,3k@1s,200@16s", seed, service)
				all, text := stages.Of(run, set)
				due, drained := dues(run, seed), *all[1].DrainedS
				t.Logf("%d behind, drained in %.3f s; %s", all[1].Behind, drained, text)
				if (text != "") != (name == "stays slow" || drained < 0) {
					t.Errorf("%q of a store that %s", text, name)
				}
				behind := func(at time.Duration) int {
					n, _ := slices.BinarySearch(due, at)
					m, _ := slices.BinarySearch(applied, at)
					return n - m
				}
				calm := 0
				for k := range slots {
					calm = max(calm, behind(before*time.Duration(k+1)/slots))
				}
				for k := range slots + 1 {
					at := last * time.Duration(k) / slots
					now := behind(ended + at)
					if drained >= 0 && at.Seconds() > drained-0.001 {
						if now > calm+room {
							t.Errorf("%d operations were behind when they had drained, %d before the burst", now, calm)
						}
						break
					}
					if now < calm-room {
						t.Fatalf("%d operations were behind after %v, before they had drained, %d before the burst", now, at, calm)
					}
				}
			})
		}
	}
}
