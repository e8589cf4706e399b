package verdict

import (
	"math"
	"slices"
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
