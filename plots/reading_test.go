package plots

import (
	"fmt"
	"slices"
	"testing"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"kvlab/metrics"
)

// What a figure says at a place is what its series have there: of the run of two
// clients, second by second.
func TestReadingsAreTheFiguresOwn(t *testing.T) {
	got := ThroughputFigure(twoClients()).Readings
	want := []Reading{
		{-0.5, "-0.5 s, warm-up", []string{"all clients: 70 ops/s", "a: 50 ops/s", "b: 80 ops/s"}},
		{0.5, "0.5 s, measured window", []string{"all clients: 420 ops/s", "a: 100 ops/s", "b: 400 ops/s"}},
		{1.5, "1.5 s, measured window", []string{"all clients: 360 ops/s", "a: 200 ops/s", "b: 80 ops/s"}},
	}
	if len(got) < len(want) {
		t.Fatalf("readings %v, want %v first", got, want)
	}
	for i := range want {
		if got[i].Head != want[i].Head || !slices.Equal(got[i].Rows, want[i].Rows) {
			t.Errorf("reading %d is %v, want %v", i, got[i], want[i])
		}
	}
}

// Of many nodes only the highest and the lowest are named.
func TestReadingsOfMany(t *testing.T) {
	p := readable{write: inUnit("%g")}
	for i := range maxNames + 1 {
		p.series = append(p.series, Series{Node: fmt.Sprint("n", i), Points: plotter.XYs{{X: 1, Y: float64((i * 4) % 9)}}})
	}
	if got, want := p.rows(1, 1), []string{"highest, n2: 8", "lowest, n0: 0"}; !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
	if got := p.rows(3, 1); len(got) != 0 {
		t.Errorf("rows %q out of reach, want none", got)
	}
}

func TestNearest(t *testing.T) {
	points := plotter.XYs{{X: 1, Y: 10}, {X: 2, Y: 20}, {X: 4, Y: 40}}
	for at, want := range map[float64]float64{0: 10, 1.4: 10, 1.6: 20, 2.9: 20, 3.1: 40, 5: 40} {
		if got, ok := nearest(points, at, 1.5); !ok || got != want {
			t.Errorf("nearest to %g is %g, %v, want %g", at, got, ok, want)
		}
	}
	for _, at := range []float64{-1, 6} {
		if got, ok := nearest(points, at, 1.5); ok {
			t.Errorf("nearest to %g is %g, want none", at, got)
		}
	}
}

func TestReadingsOfSpotsAndLatencies(t *testing.T) {
	estimate, _ := metrics.MedianInterval([]float64{1e6, 2e6, 3e6}, 0.95)
	lines := []Line{
		{Name: "batch 1", Spots: []Spot{{Value: "4", Place: 4, Estimate: estimate, Ideal: 4e6}, {Value: "2", Place: 2}}},
		{Name: "batch 8", Spots: []Spot{{Value: "4", Place: 4, Point: Point{Point: metrics.Point{Failed: make([]metrics.Trial, 2)}}}}},
	}
	got := spotReadings(lines, "nodes")
	want := []Reading{
		{2, "nodes 2", []string{"batch 1: no result"}},
		{4, "nodes 4", []string{"batch 1: 2M (median of 3, too few for an interval) ops/s, 50.0 % of the ideal", "batch 8: no result, 2 failed"}},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("readings %v, want %v", got, want)
	}
	curve := plotter.XYs{{X: 0, Y: 1}, {X: 1, Y: 2}, {X: 2, Y: 3}, {X: 2.5, Y: 4}, {X: 3, Y: 5}, {X: 3.5, Y: 6}}
	latencies := latencyReadings([]string{"call"}, []plotter.XYs{curve})
	if want := []Reading{{0, "p0.0", []string{"call: 1 ms"}}, {3.5, "p99.97", []string{"call: 6 ms"}}}; fmt.Sprint(latencies) != fmt.Sprint(want) {
		t.Errorf("readings %v, want %v", latencies, want)
	}
}

// Labels that have no room beside the one before are left out; their ticks stay.
func TestFittingTicks(t *testing.T) {
	p := newPanel("", "")
	p.X.Min, p.X.Max = 0, 100
	labels := func(points float64) (named []string) {
		marks := fitting{ticks{20, shortest}, p.X, vg.Length(points)}.Ticks(0, 100)
		if len(marks) != 21 {
			t.Fatalf("%d ticks, want 21", len(marks))
		}
		for _, mark := range marks {
			if mark.Label != "" {
				named = append(named, mark.Label)
			}
		}
		return named
	}
	if got := labels(2000); len(got) != 21 {
		t.Errorf("labels %q where there is room for all", got)
	}
	if got := labels(300); len(got) < 5 || len(got) > 11 || got[0] != "0" {
		t.Errorf("labels %q of 21 along 300 points", got)
	}
}
