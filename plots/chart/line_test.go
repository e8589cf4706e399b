package chart

import (
	"math"
	"slices"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
)

// Runs that differ in one or two flags have a knob for each; in more, one knob
// that says it all.
func TestSweepOfRunsThatDiffer(t *testing.T) {
	work := func(flags ...string) *folder.Run {
		all := map[string]string{}
		for _, flag := range flags {
			name, value, _ := strings.Cut(flag, "=")
			all[name] = value
		}
		return ranAt(2, 1, foldertest.Valid, all)
	}
	for _, test := range []struct {
		runs []*folder.Run
		want []metrics.Knob
	}{
		{[]*folder.Run{work("batch=64", "seed=1"), work("batch=64", "seed=2")}, []metrics.Knob{foldertest.Knob("nodes", "2")}},
		{[]*folder.Run{work("batch=1024"), work("batch=64"), work("batch=auto")}, []metrics.Knob{foldertest.Knob("nodes", "2"), foldertest.Knob("batch", "64", "1024", "auto")}},
		{[]*folder.Run{work("batch=1", "theta=0.5"), work("batch=1"), work("batch=2")}, []metrics.Knob{foldertest.Knob("nodes", "2"), foldertest.Knob("batch", "1", "2"), foldertest.Knob("theta", "0.5", "")}},
		{[]*folder.Run{work("batch=1", "theta=0.5", "secs=5"), work("batch=2", "theta=0.9", "secs=6")},
			[]metrics.Knob{foldertest.Knob("nodes", "2"), foldertest.Knob("settings", "batch 1, secs 5, theta 0.5", "batch 2, secs 6, theta 0.9")}},
	} {
		s := folder.SweepOf(test.runs)
		if !slices.EqualFunc(s.Knobs, test.want, func(a, b metrics.Knob) bool { return a.Name == b.Name && slices.Equal(a.Values, b.Values) }) {
			t.Errorf("knobs %v, want %v", s.Knobs, test.want)
		}
		trials := 0
		for _, point := range s.Points {
			trials += point.Trials()
		}
		if trials != len(test.runs) {
			t.Errorf("%d trials at the points of %v, want %d", trials, s.Knobs, len(test.runs))
		}
	}
}

func TestSweepOfRuns(t *testing.T) {
	bad := metrics.Verdict{Reason: "misses", Node: "n1"}
	s := folder.SweepOf([]*folder.Run{
		ranAt(8, 30, foldertest.Valid, map[string]string{"seed": "1"}),
		ranAt(2, 12, foldertest.Valid, map[string]string{"seed": "2"}),
		ranAt(2, 8, foldertest.Valid, map[string]string{"seed": "3"}),
		ranAt(4, 21, foldertest.Valid, nil), ranAt(4, 19, foldertest.Valid, nil), ranAt(4, 15, foldertest.Valid, nil),
		ranAt(1, 99, bad, nil),
	})
	if want := []metrics.Knob{foldertest.Knob("nodes", "1", "2", "4", "8")}; len(s.Knobs) != 1 || !slices.Equal(s.Knobs[0].Values, want[0].Values) {
		t.Fatalf("knobs %v, want %v", s.Knobs, want)
	}
	line := LinesOf(s, 0, AxisOf(s.Knobs[0]))[0]
	for i, want := range []PointOnLine{
		{Place: 1},
		{Place: 2, Estimate: stats.Estimate{N: 2, Median: 10}, Ideal: 10},
		{Place: 4, Estimate: stats.Estimate{N: 3, Median: 19}, Ideal: 20, Step: 0.95},
		{Place: 8, Estimate: stats.Estimate{N: 1, Median: 30}, Ideal: 40, Step: 30.0 / 19 / 2},
	} {
		got := line.Points[i]
		if got.Place != want.Place || got.Estimate != want.Estimate {
			t.Errorf("spot %d is at %v with %+v, want %v with %+v", i, got.Place, got.Estimate, want.Place, want.Estimate)
		}
		near(t, "ideal", got.Ideal, want.Ideal)
		near(t, "step", got.Step, want.Step)
	}
	near(t, "efficiency", line.Points[3].Efficiency(), 0.75)
	if failed := s.Failed(); len(failed) != 1 || failed[0].OpsPerS != 99 {
		t.Errorf("failed %+v, want the run of one node", failed)
	}
}

// ranAt returns a run of some nodes with a throughput.
func ranAt(nodes int, opsPerS float64, verdict metrics.Verdict, work map[string]string) *folder.Run {
	return &folder.Run{Run: metrics.Run{
		ID: "r", Nodes: make([]metrics.RunNode, nodes), Result: metrics.Result{OpsPerS: opsPerS, Verdict: verdict}, Workload: work,
	}}
}

// near wants a number up to rounding.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
