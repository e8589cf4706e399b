package plots

import (
	"slices"
	"testing"

	"gonum.org/v1/plot/plotter"

	"kvlab/metrics"
)

// ranAt is a run of some nodes that came to opsPerS.
func ranAt(nodes int, opsPerS float64, verdict metrics.Verdict, work map[string]string) *Run {
	return &Run{Run: metrics.Run{
		ID: "r", Nodes: make([]metrics.RunNode, nodes), OpsPerS: opsPerS, Verdict: verdict, Workload: work,
	}}
}

func TestScaleOf(t *testing.T) {
	bad := metrics.Verdict{Reason: "misses", Node: "n1"}
	scale := ScaleOf([]*Run{
		ranAt(8, 30, valid, map[string]string{"batch": "1", "seed": "1"}),
		ranAt(2, 12, valid, map[string]string{"batch": "1", "seed": "2"}),
		ranAt(2, 8, valid, map[string]string{"batch": "2", "seed": "3"}),
		ranAt(4, 21, valid, map[string]string{"batch": "1", "theta": "0.99"}),
		ranAt(4, 19, valid, nil),
		ranAt(4, 15, valid, nil),
		ranAt(1, 99, bad, map[string]string{"workers": "7"}),
	})
	wantPoints(t, "Runs", scale.Runs, plotter.XYs{{X: 8, Y: 30}, {X: 2, Y: 12}, {X: 2, Y: 8}, {X: 4, Y: 21}, {X: 4, Y: 19}, {X: 4, Y: 15}})
	wantPoints(t, "Medians", scale.Medians, plotter.XYs{{X: 2, Y: 10}, {X: 4, Y: 19}, {X: 8, Y: 30}})
	wantPoints(t, "Ideal", scale.Ideal, plotter.XYs{{X: 2, Y: 10}, {X: 4, Y: 20}, {X: 8, Y: 40}})
	if want := []string{"r: INVALID(misses, n1)"}; !slices.Equal(scale.LeftOut, want) {
		t.Errorf("LeftOut = %q, want %q", scale.LeftOut, want)
	}
	if want := []string{"-batch", "-theta"}; !slices.Equal(scale.Differ, want) {
		t.Errorf("Differ = %q, want %q", scale.Differ, want)
	}
}

func TestScalingFigureOfFewRuns(t *testing.T) {
	for name, runs := range map[string][]*Run{
		"none":             nil,
		"one":              {ranAt(2, 1e6, valid, nil)},
		"one size":         {ranAt(2, 1e6, valid, nil), ranAt(2, 2e6, valid, nil)},
		"nothing was done": {ranAt(2, 0, valid, nil), ranAt(4, 0, valid, nil)},
	} {
		t.Run(name, func(t *testing.T) {
			svg, err := ScalingFigure(runs).SVG()
			if err != nil {
				t.Fatal(err)
			}
			checkXML(t, "throughput_scaling.svg", svg)
		})
	}
}
