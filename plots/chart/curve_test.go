package chart

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"
	"kvlab/internal/foldertest"
	"kvlab/metrics/curve"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// The axis of a single rate begins at zero: there is no range of rates around it.
func TestAxisOfOneRate(t *testing.T) {
	for _, test := range []struct{ least, want float64 }{{70e3, 0}, {50e3, 45.8e3}} {
		p := figure.NewPanel("x", "y")
		scale(p, plotter.XYs{{X: test.least, Y: 1}, {X: 70e3, Y: 2}}, nil)
		near(t, "the axis begins at", p.X.Min, test.want)
	}
}

// The lines of a curve's figure are the medians of the trials, here by the closed formula
// of an M/M/1 queue; every trial is a dot, and the saturated rate is none.
func TestCurveOfAQueue(t *testing.T) {
	const mu = 1e6
	s, err := folder.LoadSweep(foldertest.MakeCurve(t, t.TempDir(), "queue", mu, "p99=30us", map[string]string{"workload": "YCSB-B", "engine": "slab"}))
	if err != nil {
		t.Fatal(err)
	}
	curves := CurvesOf(s)
	if len(curves) != 1 || !curve.Is(s.Sweep) || curves[0].Peak != mu {
		t.Fatalf("%d curves: %+v", len(curves), curves)
	}
	for quantile, q := range map[string]float64{"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999} {
		medians, dots := curves[0].medians(quantile), curves[0].dots(quantile)
		if len(medians) != 4 || len(dots) != 4*7 {
			t.Fatalf("%s: %d medians, %d dots", quantile, len(medians), len(dots))
		}
		for i, share := range foldertest.QueueShares[:4] {
			near(t, quantile+" at", medians[i].X, share*mu)
			near(t, quantile+" is", medians[i].Y, max(0.001, 1.03*-math.Log(1-q)*1e3/(mu*(1-share))))
			near(t, quantile+" of trial 7 is", dots[7*i+6].Y, max(0.001, 1.06*-math.Log(1-q)*1e3/(mu*(1-share))))
		}
	}
	figures := ScalingFigures(s)
	if len(figures) != 1 || figures[0].Name != "latency_throughput" {
		t.Fatalf("%d figures, want the curve alone", len(figures))
	}
	svg, err := figures[0].SVG()
	if err != nil {
		t.Fatal(err)
	}
	foldertest.CheckXML(t, "latency_throughput.svg", svg)
	right := mu * (1 - 1.03*math.Log(100)*1e6/mu/30) // p99 of the median trial is 30 us: between 80 and 90 %
	rate := curves[0].Rate()
	if math.Abs(rate.OpsPerS/right-1) > 0.001 || rate.Low > right || rate.High < right {
		t.Errorf("the rate is %+v, want %v", rate, right)
	}
	for _, want := range []string{"p99.9", "knee at 500k ops/s", fmt.Sprintf("SLO p99=30µs: kept up to %.0fk ops/s", rate.OpsPerS/1e3), "1 rate more without percentiles", "p50 0.00143 ms"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("the figure has no %q", want)
		}
	}
}
