package metrics

import (
	"math"
	"strings"
	"testing"
)

// perSecond are the spans of a client with a rate in each second, cut up at other moments
// than whole seconds.
func perSecond(rates ...float64) (spans []OpsSpan) {
	const cut = 0.3
	for i, rate := range rates {
		at := float64(i)
		spans = append(spans, OpsSpan{at, at + cut, rate * cut}, OpsSpan{at + cut, at + 1, rate * (1 - cut)})
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
		r := Restart{AtS: test.at}
		if test.replied > 0 {
			r.FirstReplyS = &test.replied
		}
		r.Recover(append(perSecond(test.rates...), OpsSpan{-1, 0, 7}, OpsSpan{float64(len(test.rates)), 99, 1e6}), float64(len(test.rates)))
		recovered := 0.0
		if r.RecoveredS != nil {
			recovered = *r.RecoveredS
		}
		if math.Abs(r.BeforeOpsPerS-test.before) > 1e-9 || math.Abs(recovered-test.recovered) > 1e-9 {
			t.Errorf("%s: %v ops/s before, recovered after %v; want %v and %v", test.name, r.BeforeOpsPerS, recovered, test.before, test.recovered)
		}
	}
}

func TestRestartText(t *testing.T) {
	r := &Restart{Server: "node0", AtS: 10.04, ReadyS: 0.2, BeforeOpsPerS: 51234, UnknownOps: 4096}
	if text := r.String(); text != "node0 was killed 10.0 s into the window and ready again after 0.200 s, no reply after that; back at 90 % of 51.2k ops/s not within the window; 4096 operations of unknown outcome" {
		t.Error(text)
	}
	r.FirstReplyS, r.RecoveredS = new(0.25), new(1.5)
	if text := r.String(); !strings.Contains(text, "its first reply after 0.250 s; back at 90 % of 51.2k ops/s after 1.500 s;") {
		t.Error(text)
	}
	if !r.Of("node0") || r.Of("node1") || (*Restart)(nil).Of("node0") {
		t.Error("the wrong server was killed")
	}
}
