package verdict

import (
	"strings"
	"testing"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// What is counted in the window may be more than the links carry only as far as it was under
// way when the window opened.
func TestLink(t *testing.T) {
	lab := func(bitsPerS uint64) *metrics.Lab { return &metrics.Lab{Hosts: 2, LinkBitsPerS: bitsPerS} }
	for _, test := range []struct {
		name     string
		lab      *metrics.Lab
		change   func(r *judged)
		want     metrics.CheckOutcome
		evidence string
	}{
		{"unknown", nil, func(*judged) {}, metrics.CheckInapplicable, "not known"},
		{"wide", lab(1e9), func(*judged) {}, metrics.CheckPassed, "0.9 MB"},
		{"too narrow", lab(1e5), func(*judged) {}, metrics.CheckFailed, "have 0.9 MB of payload, its link carries 0.4 MB, and 0.0 MB were in flight"},
		{"in flight", lab(1e5), func(r *judged) { r.Nodes[1].Summary.Workers[0].Rounds.MostOps = 9000 }, metrics.CheckDoubted, "the others were in flight"},
		{"shared", lab(1e5), func(r *judged) { r.Nodes[0].Machine, r.Nodes[1].Machine = "m", "m" }, metrics.CheckInapplicable, "share machines"},
	} {
		run := witnessed()
		run.Lab = test.lab
		run.WindowS = 10
		test.change(run)
		if got := checkLink(run); got.Outcome != test.want || !strings.Contains(got.Evidence, test.evidence) {
			t.Errorf("%s: %+v, want %s with %q", test.name, got, test.want, test.evidence)
		}
	}
}

// A drift stands beside a VALID result.
func TestDriftIsACaveat(t *testing.T) {
	for length, want := range map[float64]metrics.CheckOutcome{5: metrics.CheckInapplicable, 10: metrics.CheckDoubted, 33: metrics.CheckFailed} {
		run := witnessed()
		run.WindowS = length
		if found := checkDrift(run); found.Outcome != want {
			t.Errorf("no rates of %v s: %+v, want %s", length, found, want)
		}
	}
	run := witnessed()
	drift, _ := stats.CheckDrift([]float64{100, 97, 60, 20, 21})
	run.Drift = &drift
	if found, want := checkDrift(run), "the rate drifted by -79 % from the first half of the window to the second"; found.Outcome != metrics.CheckDoubted || found.Evidence != want {
		t.Errorf("%+v, want a doubt: %s", found, want)
	}
}
