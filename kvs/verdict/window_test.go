package verdict

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/account"
)

// measuring gives the clients of a run windows of 100 s, some seconds after
// the first client's, with one operation in each slot of the edges and the rest
// of a rate between.
func measuring(run *judged, rates []uint64, after ...float64) {
	slot := metrics.EdgeSlot(100 * time.Second).Seconds()
	for i := range rates {
		s := run.Nodes[2+i].Summary
		s.WindowStart = run.Nodes[2].Summary.WindowStart.Add(time.Duration(after[i] * float64(time.Second)))
		s.WindowLengthS = 100
		s.InWindow = metrics.Counts{Gets: 100 * rates[i]}
		s.Edges = &metrics.Edges{SlotS: slot, First: slices.Repeat([]uint64{1}, metrics.EdgeSlots), Last: slices.Repeat([]uint64{1}, metrics.EdgeSlots)}
	}
}

// What came while only one client measured does not count.
func TestTotalCommonWindow(t *testing.T) {
	run := goodRun()
	measuring(run, []uint64{10, 20}, 0, 2) // 2 s are 60 slots
	account.Total(&run.Run)
	if run.Ops != 1000-60+2000-60 || math.Abs(run.WindowS-98) > 1e-9 {
		t.Errorf("%d operations in %v s, want 2880 in 98", run.Ops, run.WindowS)
	}
	if want := 2880 / 98.0; math.Abs(run.OpsPerS-want) > 1e-6 {
		t.Errorf("%v ops/s, want %v", run.OpsPerS, want)
	}
}

// An open loop's achieved share is that of the clients' own windows.
func TestTotalOffered(t *testing.T) {
	run := goodRun()
	measuring(run, []uint64{10, 20}, 0, 2)
	for i, rate := range []float64{10, 40} {
		run.Nodes[2+i].Summary.Offered = &metrics.Offered{OpsPerS: rate, Ops: uint64(100 * rate)}
	}
	account.Total(&run.Run)
	if run.Offered.OpsPerS != 50 || run.Offered.Ops != 940+2*1940 {
		t.Errorf("offered %+v, want 50 ops/s and 4820 operations", run.Offered)
	}
}

// Windows that lie apart are no pair's.
func TestCheckCommonWindow(t *testing.T) {
	begun := time.Now()
	at := func(after time.Duration, seconds float64) metrics.Run {
		return metrics.Run{WindowStart: begun.Add(after), Result: metrics.Result{WindowS: seconds}}
	}
	for _, test := range []struct {
		a, b  metrics.Run
		valid bool
	}{
		{at(0, 10), at(0, 10), true},
		{at(0, 10), at(400*time.Millisecond, 10), true},
		{at(0, 10), at(-600*time.Millisecond, 10), false},
		{at(0, 10), at(time.Minute, 10), false},
		{at(0, 0), at(0, 10), true}, // its own verdict says why
	} {
		got := CheckCommonWindow(test.a, test.b)
		if got.Valid != test.valid || got.Valid != (got.Reason == "") {
			t.Errorf("%v and %v: %v", test.a.WindowStart.Sub(begun), test.b.WindowStart.Sub(begun), got)
		}
	}
}

// The run's rate is that of its operations, and these are the clients'.
func TestRate(t *testing.T) {
	for want, spoil := range map[string]func(*judged){
		"": func(*judged) {},
		"1050.0 ops/s are not 10000 operations in 10.000 s":                                   func(run *judged) { run.OpsPerS *= 1.05 },
		"20000 operations are counted in the common window, the clients have 10000 in theirs": func(run *judged) { run.Ops *= 2; run.OpsPerS *= 2 },
	} {
		run := witnessed()
		account.Total(&run.Run)
		spoil(run)
		if v := run.made(rows("rate")); v.Reason != want {
			t.Errorf("%s, want %q", v, want)
		}
	}
	run := witnessed()
	late := *run.Nodes[1].Summary // it was told late, and measures for longer than the other
	late.WindowLengthS = 11.5
	run.Nodes = append(run.Nodes, metrics.RunNode{Name: "c1", Role: metrics.Client, Summary: &late})
	account.Total(&run.Run)
	if v := run.made(rows("rate")); !v.Valid {
		t.Errorf("a longer window: %s", v)
	}
}

// A window of less than ten rounds is VALID, and the result says how wrong its ends may make it.
func TestFewRounds(t *testing.T) {
	for mean, want := range map[float64]string{
		0.99e6: "passed: a round takes 0.99 s, a tenth of the window at most",
		1.5e6:  "doubted: the window of 10 s has 6.7 rounds of 1.5 s: the operations in flight at its ends may make the result up to 15 % wrong",
	} {
		run := witnessed()
		s := run.Nodes[1].Summary
		run.Workload["batch"] = "auto" // so that the rounds have no size
		k := metrics.Octave(time.Duration(mean) * time.Microsecond)
		s.Latency[metrics.OpLatency] = metrics.Quantiles{Values: 10_000, Mean: mean, Max: mean, Octaves: inOctave(k, 10_000)}
		setKinds(s.Latency, mean)
		run.Latency = s.Latency
		s.Stamps[metrics.OpLatency] = metrics.Stamps{SumS: 1e4 * mean / 1e6, SquaresS2: 1e4 * mean * mean / 1e12, LongestS: mean / 1e6, Octaves: inOctave(k, 10_000)}
		verdict := run.witnesses()
		if got := checkLength(run); !verdict.Valid || string(got.Outcome)+": "+got.Evidence != want {
			t.Errorf("rounds of %v s: %s, %+v, want %s", mean/1e6, verdict, got, want)
		}
	}
}

// A round that is longer than the window is no mistake of the client: the window is too
// short, and the verdict says what to type.
func TestRoundsLongerThanTheWindow(t *testing.T) {
	for _, test := range []struct {
		name   string
		across uint64
		busyS  float64
		want   string
	}{
		{"one of two", 1, 0, "INVALID(TOO SHORT: the window of 10 s is shorter than the longest round of calls, 10.4 s: 1 of 2 rounds lasted all of it and counted nothing; want --secs 13, c0)"},
		{"none, and a worker rests", 0, 0, "INVALID(the rounds of the window took 9.900 s together, so 1.0 were in flight at a time, not 2 (Little's law), c0)"},
		{"more than the worker has", 1, 9.9, "INVALID(the rounds of the window took 29.800 s together, so 3.0 were in flight at a time, not 2 (Little's law), c0)"},
	} {
		run := witnessed()
		rounds := run.Nodes[1].Summary.Workers[0].Rounds
		rounds.Across, rounds.AcrossS, rounds.BusyS = test.across, 10.4, test.busyS
		if got := run.witnesses().String(); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	run := witnessed()
	s := run.Nodes[1].Summary
	s.InWindow, s.Latency = metrics.Counts{}, nil
	for i := range s.Workers {
		*s.Workers[i].Rounds = metrics.Rounds{Across: 1, AcrossS: 11}
	}
	if got, want := run.witnesses().String(), "11 s: 2 of 2 rounds lasted all of it and counted nothing; want --secs 132"; !strings.Contains(got, want) {
		t.Errorf("all rounds are longer: %s, want %s", got, want)
	}
}

// Over a hundredth more than was due in the window is a doubt; less is saturated. Both stay
// VALID.
func TestBacklog(t *testing.T) {
	for due, want := range map[uint64]string{9910: "", 9740: "102.7 % of the operations that were due in the window were answered in it", 10_260: ""} {
		run := witnessed()
		openLoopOf(run, float64(due)/10)
		if got := run.witnesses().String(); got != "VALID" {
			t.Errorf("%d due: %s, want VALID", due, got)
		}
		if got := checkBacklog(run); (got.Outcome == metrics.CheckDoubted) != (want != "") || !strings.Contains(got.Evidence, want) {
			t.Errorf("%d due: %+v, want %q", due, got, want)
		}
		if refused := run.Latency[metrics.OpLatency].Refused; (refused != "") != (due > 10_250) {
			t.Errorf("%d due: refused %q", due, refused)
		}
	}
}
