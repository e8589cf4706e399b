package account

import (
	"math"
	"testing"

	"kvlab/metrics"
)

// perSecond returns the spans of a client with a rate in each second, cut up at other moments
// than whole seconds.
func perSecond(rates ...float64) (spans []opsSpan) {
	const cut = 0.3
	for i, rate := range rates {
		at := float64(i)
		spans = append(spans, opsSpan{at, at + cut, rate * cut}, opsSpan{at + cut, at + 1, rate * (1 - cut)})
	}
	return spans
}

func TestRecover(t *testing.T) {
	for _, test := range []struct {
		name              string
		at, replied       float64 // replied 0: never
		rates             []float64
		before, recovered float64 // recovered 0: never
	}{
		{"at once", 3, 0.2, []float64{100, 120, 110, 100, 110, 110}, 110, 0.2},
		{"a second later", 3, 0.2, []float64{100, 120, 110, 80, 110, 110}, 110, 1},
		{"just enough", 3, 0.2, []float64{100, 100, 100, 89, 91, 100}, 100, 1},
		{"in steps", 3.5, 1.2, []float64{100, 100, 100, 50, 30, 80, 95}, 100, 2.5},
		{"a second that ended before the reply", 2.9, 0.3, []float64{100, 100, 95, 40, 99}, 100, 1.1},
		{"not within the window", 3, 0.2, []float64{100, 100, 100, 50, 60, 80}, 100, 0},
		{"no reply", 3, 0, []float64{100, 100, 100, 0, 0, 0}, 100, 0},
		{"nothing before", 0.5, 0.1, []float64{100, 100}, 0, 0},
	} {
		r := metrics.Restart{AtS: test.at}
		if test.replied > 0 {
			r.FirstReplyS = &test.replied
		}
		setRecovery(&r, append(perSecond(test.rates...), opsSpan{-1, 0, 7}, opsSpan{float64(len(test.rates)), 99, 1e6}), float64(len(test.rates)))
		recovered := 0.0
		if r.RecoveredS != nil {
			recovered = *r.RecoveredS
		}
		if math.Abs(r.BeforeOpsPerS-test.before) > 1e-9 || math.Abs(recovered-test.recovered) > 1e-9 {
			t.Errorf("%s: %v ops/s before, recovered after %v; want %v and %v", test.name, r.BeforeOpsPerS, recovered, test.before, test.recovered)
		}
	}
}
