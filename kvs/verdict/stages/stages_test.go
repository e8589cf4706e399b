package stages

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/latency"
	"kvlab/workload"
	"kvlab/workload/profile"
)

var opens = time.Date(2026, 11, 28, 12, 0, 0, 500e6, time.UTC)

// store is a queue: each operation takes its service in turn, and then waits.
type store struct {
	service, wait func(begun time.Duration) time.Duration
}

func always(d time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return d }
}

// after is d from a time on, and before the other.
func after(at, d, before time.Duration) func(time.Duration) time.Duration {
	return func(begun time.Duration) time.Duration {
		if begun >= at {
			return d
		}
		return before
	}
}

// simulate runs a rate on a store, and returns the run of one client with its intervals of about a second.
func simulate(t *testing.T, text, arrivals string, seed uint64, s store) (metrics.Run, *latency.Set) {
	t.Helper()
	rate := profile.Parsed(text)
	length, err := rate.Fit(0, false)
	if err != nil {
		t.Fatal(err)
	}
	course, tally := rate.Course(rate.OpsPerS), rate.NewTally()
	a := workload.NewArrivals(arrivals, course.First(), seed, workload.Place{Nodes: 1, Workers: 1})
	a.Follow(course, 0)
	set, second := latency.NewSet(), newSecond()
	var due [1]time.Duration
	free, answered := time.Duration(0), uint64(0)
	jitter := rand.New(rand.NewPCG(seed, 1))
	begin, end := time.Duration(0), time.Second
	for a.Due(length-1, due[:]) == 1 {
		tally.Due(due[:], 0)
		begun := max(free, due[0])
		free = begun + s.service(begun)
		came := free + s.wait(begun)
		for came >= end {
			second.report(t, set, rate.Stage(begin, end), begin, end)
			begin, end = end, end+time.Second+time.Duration(jitter.IntN(5e6))
		}
		if came < length {
			tally.Done(came, 1)
			answered++
		}
		second.recorder.Observe(&latency.Timing{Phase: metrics.Window, Ops: latency.Kinds{1}, Call: came - begun, Op: came - due[0], Inside: came < length})
	}
	second.report(t, set, 0, begin, end)
	stages := tally.Stages()
	summary := &metrics.Summary{WindowStart: opens, WindowLengthS: length.Seconds(), InWindow: metrics.Counts{Gets: answered}, Workers: make([]metrics.WorkerAccount, 1),
		Offered: &metrics.Offered{OpsPerS: rate.OpsPerS, Stages: stages}}
	for _, s := range stages {
		summary.Offered.Ops += s.Due
	}
	run := metrics.Run{Workload: metrics.Settings{"rate": rate.String()}, Nodes: []metrics.RunNode{{Name: "c0", Role: metrics.Client, Summary: summary}}}
	run.Latency = set.Quantiles()
	return run, set
}

// second collects an interval.
type second struct {
	collector *latency.Collector
	recorder  *latency.Recorder
}

func newSecond() second {
	c, r := latency.NewCollector(1, 1)
	return second{c, r[0]}
}

func (s second) report(t *testing.T, set *latency.Set, stage int, begin, end time.Duration) {
	t.Helper()
	all, err := s.collector.Collect(begin.Seconds(), (end - begin).Seconds())
	for _, h := range all {
		if h.Stage = stage; err == nil {
			err = set.Add(metrics.Record{Node: "c0", Role: metrics.Client, Time: opens.Add(end), Histogram: &h})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// some is d for 8 in 100 operations from a time on.
func some(at, d time.Duration) func(time.Duration) time.Duration {
	return func(begun time.Duration) time.Duration {
		if begun >= at && begun%100 < 8 {
			return d
		}
		return 0
	}
}

// seeds returns the number of seeds: KVLAB_LONG=1 tries 10, and more stores.
func seeds() uint64 {
	if os.Getenv("KVLAB_LONG") == "1" {
		return 10
	}
	return 1
}

const burst = "500@8s,3k@500ms,500@12s"

// A store with a capacity of c drains a burst of rate b and length t at rate r in (b-c)t/(c-r): of constant
// arrivals to a slot of the tally, and of Poisson's to five standard deviations of a queue. It has
// recovered, also if one second in three is slow.
func TestStoreRecovers(t *testing.T) {
	const want = (3000 - 1000) * 0.5 / (1000 - 500)
	for seed := range seeds() {
		for _, arrivals := range []string{workload.Constant, workload.Poisson} {
			noise := rand.New(rand.NewPCG(seed, 2))
			slow := make([]time.Duration, 100)
			for i := range slow {
				if i%3 == 0 {
					slow[i] = time.Duration(noise.IntN(50)) * time.Millisecond
				}
			}
			s := store{always(time.Millisecond), func(begun time.Duration) time.Duration { return slow[int(begun.Seconds())] }}
			room := 2 * 12.0 / 333
			if arrivals == workload.Poisson { // of the burst's operations, and of those that come until it is drained
				room += 5 * math.Sqrt(1500+500*want) / 500
			} else {
				s.wait = always(0)
			}
			run, set := simulate(t, burst, arrivals, seed, s)
			all, unrecovered := Of(run, set)
			run.Stages = all
			if unrecovered != "" {
				t.Errorf("seed %d, %s: %s", seed, arrivals, unrecovered)
			}
			if d := all[1].DrainedS; d == nil || math.Abs(*d-want) > room {
				t.Errorf("seed %d, %s: drained in %v s, want %v within %.2f", seed, arrivals, *d, want, room)
			}
			if calm := all[1].CalmS; arrivals == workload.Constant && (calm == nil || *calm < want || *calm > want+2.5) {
				t.Errorf("seed %d, %s: calm in %v s, want the second after %v", seed, arrivals, *calm, want)
			}
			if f := Judge(run); f.Outcome != metrics.CheckPassed {
				t.Errorf("seed %d, %s: %+v", seed, arrivals, f)
			}
			for i, behind := range []float64{1, 1000, 1} {
				if got := float64(all[i].Behind); arrivals == workload.Constant && math.Abs(got-behind) > 3 {
					t.Errorf("%v operations were behind at the end of stage %d, want %v", got, i+1, behind)
				}
			}
			if q := all[1].Latency; q.P99 != nil || !strings.HasPrefix(q.Refused, "saturated") {
				t.Errorf("the burst has the latencies %+v", q)
			}
			if q := all[0].Latency; arrivals == workload.Constant && (q.P99 == nil || *q.P99 != 1000 || all[0].Late == nil) {
				t.Errorf("the first stage has the latencies %+v, want 1 ms", q)
			}
		}
	}
}

// A store that stays slow after the burst is named with its figures, whether it keeps up or not; one that was as slow
// before it is not.
func TestStoreHasNotRecovered(t *testing.T) {
	const ms, ended = time.Millisecond, 8500 * time.Millisecond
	for seed := range seeds() {
		for name, test := range map[string]struct {
			store
			want string
		}{
			"replies are late":      {store{always(ms), after(ended, 60*ms, ms)}, "stage 3, 500@12s, after stage 2, 3k@500ms: at all times more operations were behind than ever in stage 1, "},
			"some replies are late": {store{always(ms / 10), some(ended, 60*ms)}, "stage 3, 500@12s, after stage 2, 3k@500ms: the backlog has drained, and its p99 is 6"},
			"some were late":        {store{always(ms / 10), some(0, 60*ms)}, ""},
			"replies were late":     {store{always(ms), after(ended, 60*ms, 40*ms)}, ""},
			"less capacity":         {store{after(ended, 1900*time.Microsecond, ms), always(0)}, "stage 3, 500@12s, after stage 2, 3k@500ms: at all times more operations were behind than ever in stage 1, "},
			"slow for five seconds": {store{always(ms), func(at time.Duration) time.Duration {
				return after(ended+5*time.Second, ms, after(ended, 60*ms, ms)(at))(at)
			}}, ""},
			"no more than it takes":   {store{after(ended, 2*ms+100*time.Microsecond, ms), always(0)}, "its p99 is n/a (saturated: "},
			"late since its begin":    {store{always(ms), always(60 * ms)}, ""},
			"faster than it had been": {store{always(ms), after(ended, ms, 60*ms)}, ""},
		} {
			if seeds() == 1 && !slices.Contains([]string{"replies are late", "some replies are late", "slow for five seconds"}, name) {
				continue
			}
			run, set := simulate(t, burst, workload.Poisson, seed, test.store)
			all, got := Of(run, set)
			if !strings.Contains(got, test.want) || (test.want == "") != (got == "") {
				t.Errorf("seed %d, %s: %q, want %q", seed, name, got, test.want)
			}
			if run.Stages = all; Judge(run).Outcome != metrics.CheckPassed {
				t.Errorf("seed %d, %s: %+v", seed, name, Judge(run))
			}
		}
	}
}

// Two clients' counts add up, and they have drained when both have.
func TestOfClients(t *testing.T) {
	run, set := simulate(t, burst, workload.Constant, 1, store{always(time.Millisecond), always(0)})
	other, _ := simulate(t, burst, workload.Constant, 2, store{always(1300 * time.Microsecond), always(0)})
	run.Nodes = append(run.Nodes, other.Nodes...)
	all, _ := Of(run, set)
	if d := *all[1].DrainedS; all[1].Due != 3000 || math.Abs(d-(3000-1000/1.3)/2/(1000/1.3-500)) > 0.2 {
		t.Errorf("%d operations were due in the burst, and drained in %v s", all[1].Due, d)
	}
	run.Nodes[0].Summary.Offered.Stages[1].DrainedS = new(-1.0)
	if all, _ := Of(run, set); *all[1].DrainedS != -1 {
		t.Errorf("drained in %v s where a client has not", *all[1].DrainedS)
	}
	run.Nodes[1].Summary = nil
	if all, text := Of(run, set); all != nil || text != "" {
		t.Errorf("stages %+v, %s without a summary", all, text)
	}
}

// Each lie about a stage is found.
func TestJudge(t *testing.T) {
	honest, set := simulate(t, burst, workload.Constant, 1, store{always(time.Millisecond), always(0)})
	for name, test := range map[string]struct {
		lie  func(*metrics.Run, []metrics.Stage)
		want string
	}{
		"none":             {func(*metrics.Run, []metrics.Stage) {}, ""},
		"a longer burst":   {func(_ *metrics.Run, s []metrics.Stage) { s[0].Due += 450; s[0].Behind += 450; s[1].Due -= 450 }, "4450 operations were due in stage 1, 500@8s gives 4000"},
		"less behind":      {func(_ *metrics.Run, s []metrics.Stage) { s[1].Behind -= 500 }, "operations were behind at the end of stage 2: 5500 had been due and "},
		"more were due":    {func(_ *metrics.Run, s []metrics.Stage) { s[2].Due++; s[2].Behind++ }, "in its stages 11501 operations were due"},
		"more than it did": {func(r *metrics.Run, _ []metrics.Stage) { r.Nodes[0].Summary.InWindow.Gets -= 3 }, "in its window 11500 and"},
		"no stages":        {func(r *metrics.Run, _ []metrics.Stage) { r.Nodes[0].Summary.Offered.Stages = nil }, "the client does not tell of the stages of -rate"},
		"latencies twice":  {func(r *metrics.Run, _ []metrics.Stage) { r.Stages[2].Latency.Values *= 2 }, "the window those of 11500"},
	} {
		run, summary, offered := honest, *honest.Nodes[0].Summary, *honest.Nodes[0].Summary.Offered
		offered.Stages = slices.Clone(offered.Stages)
		summary.Offered = &offered
		run.Nodes = []metrics.RunNode{{Name: "c0", Role: metrics.Client, Summary: &summary}}
		run.Stages, _ = Of(run, set)
		test.lie(&run, run.Nodes[0].Summary.Offered.Stages)
		f := Judge(run)
		if failed := f.Outcome == metrics.CheckFailed; failed != (test.want != "") || !strings.Contains(f.Evidence, test.want) {
			t.Errorf("%s: %s, want %q", name, fmt.Sprint(f), test.want)
		}
	}
	run := honest
	run.Stages, _ = Of(run, set)
	for early, want := range map[uint64]metrics.CheckOutcome{0: metrics.CheckPassed, 39: metrics.CheckPassed, 43: metrics.CheckDoubted} { // of 4000, and one is in flight at the end
		summary := *honest.Nodes[0].Summary
		summary.InWindow.Gets += early
		run.Nodes = []metrics.RunNode{{Role: metrics.Client, Summary: &summary}}
		if f := Opening(run); f.Outcome != want {
			t.Errorf("%d operations from before the window: %+v", early, f)
		}
	}
	if f := Judge(metrics.Run{Workload: metrics.Settings{"rate": "5000"}}); f.Outcome != metrics.CheckInapplicable {
		t.Errorf("%+v of a constant rate", f)
	}
}

// A store that does not keep up with the first stage has nothing to recover to.
func TestNeverKeptUp(t *testing.T) {
	run, set := simulate(t, burst, workload.Constant, 1, store{always(5 * time.Millisecond), always(0)})
	if all, why := Of(run, set); len(all) != 3 || why != "" {
		t.Errorf("%d stages, %q", len(all), why)
	}
}
