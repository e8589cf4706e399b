package metrics

import (
	"reflect"
	"slices"
	"testing"
)

func TestSummarize(t *testing.T) {
	plan := Sweep{Knobs: []Knob{{Name: "nodes", Values: []string{"2", "4"}}, {Name: "batch", Values: []string{"1", "64"}}}}
	trial := func(number int, opsPerS float64, valid bool, point ...string) Trial {
		return Trial{PlannedTrial: PlannedTrial{Number: number, Point: point}, Result: Result{OpsPerS: opsPerS, Verdict: Verdict{Valid: valid}}}
	}
	points := Summarize(plan, []Trial{
		trial(1, 30, true, "4", "64"), trial(2, 10, true, "2", "1"), trial(3, 99, false, "4", "64"),
		trial(4, 12, true, "2", "1"), trial(5, 99, false, "2", "64"), trial(6, 31, true, "4", "64"),
	})
	var names []string
	for _, point := range points {
		names = append(names, PointName(plan.Knobs, point.Values))
	}
	if want := []string{"nodes=2 batch=1", "nodes=2 batch=64", "nodes=4 batch=1", "nodes=4 batch=64"}; !slices.Equal(names, want) {
		t.Fatalf("points %q, want %q", names, want)
	}
	for i, want := range []struct {
		rates  []float64
		trials int
		ok     bool
	}{{[]float64{10, 12}, 2, true}, {nil, 1, false}, {nil, 0, false}, {[]float64{30, 31}, 3, false}} {
		if p := points[i]; !slices.Equal(p.Rates(), want.rates) || p.Trials() != want.trials || p.OK() != want.ok {
			t.Errorf("%s: rates %v of %d trials, OK %v; want %+v", names[i], p.Rates(), p.Trials(), p.OK(), want)
		}
	}
}

func TestPoints(t *testing.T) {
	knobs := []Knob{{Name: "nodes", Values: []string{"2", "4"}}, {Name: "batch", Values: []string{"1", "8", "64"}}}
	want := [][]string{{"2", "1"}, {"2", "8"}, {"2", "64"}, {"4", "1"}, {"4", "8"}, {"4", "64"}}
	if got := Points(knobs); !reflect.DeepEqual(got, want) {
		t.Errorf("Points = %v, want %v", got, want)
	}
	if got := Points(nil); len(got) != 1 || len(got[0]) != 0 {
		t.Errorf("Points without knobs = %v, want one empty point", got)
	}
	if got := PointName(knobs, want[2]); got != "nodes=2 batch=64" {
		t.Errorf("PointName = %q", got)
	}
}

func TestPointLimit(t *testing.T) {
	p := Point{Valid: []Trial{
		{Headroom: 3, Bottleneck: LimitOther}, {Headroom: 1, Bottleneck: LimitServerCPU}, {Bottleneck: LimitServerCPU}, {Headroom: 2, Bottleneck: LimitOther}, {Headroom: 9},
	}}
	if limit, n := p.Bottleneck(); limit != LimitOther || n != 2 || p.Headroom() != 2.5 {
		t.Errorf("%s in %d trials, headroom %v; want the first of two limits in 2, and 2.5", limit, n, p.Headroom())
	}
	none := Point{Valid: make([]Trial, 2)}
	if limit, n := none.Bottleneck(); limit != "" || n != 0 || none.Headroom() != 0 {
		t.Errorf("%q in %d trials, headroom %v of none", limit, n, none.Headroom())
	}
}
