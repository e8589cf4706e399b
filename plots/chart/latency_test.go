package chart

import (
	"math"
	"testing"

	"kvlab/metrics/latency"
	"kvlab/plots/figure"
)

func TestSupportedNinesIsTheInverseOfSamples(t *testing.T) {
	for _, q := range []float64{0.9, 0.99, 0.999, 0.9999} {
		n := int64(latency.Samples(q))
		if got := supportedNines(n); got < nines(q) {
			t.Errorf("supportedNines(%d) = %g, want at least %g (p%g)", n, got, nines(q), 100*q)
		}
		if got := supportedNines(n - 1); got >= nines(q) {
			t.Errorf("supportedNines(%d) = %g, want less than %g (p%g)", n-1, got, nines(q), 100*q)
		}
	}
	if got := supportedNines(0); got != 0 {
		t.Errorf("supportedNines(0) = %g, want 0", got)
	}
}

func TestLatencyCurve(t *testing.T) {
	d := latency.NewDistribution()
	for ms := range int64(1000) { // 1 ms, 2 ms, ... 1000 ms
		if err := d.RecordValue((ms + 1) * 1000); err != nil {
			t.Fatal(err)
		}
	}
	curve := latencyCurve(d, 2.5)
	if last := curve[len(curve)-1].X; last != 2.5 {
		t.Errorf("the curve ends at %g nines, want 2.5", last)
	}
	for _, q := range []float64{0, 0.5, 0.9, 0.99} {
		got := curve[figure.Nearest(curve, nines(q))].Y
		want := max(1, 1000*q)
		// One step of the curve is 1/100 nine, one of the histogram 1/1000.
		if step := 1000 * (1 - q) * (1 - math.Pow(10, -0.005)); math.Abs(got-want) > step+0.002*want+1 {
			t.Errorf("p%g is %g ms, want %g", 100*q, got, want)
		}
	}
	for i := 1; i < len(curve); i++ {
		if curve[i].Y < curve[i-1].Y {
			t.Errorf("the curve falls at %g nines", curve[i].X)
		}
	}
	if curve := latencyCurve(latency.NewDistribution(), 3); curve != nil {
		t.Errorf("an empty distribution has the curve %v, want none", curve)
	}
}

func TestLatencyCurveHasNoZero(t *testing.T) {
	d := latency.NewDistribution()
	if err := d.RecordValue(0); err != nil {
		t.Fatal(err)
	}
	for _, point := range latencyCurve(d, 1) {
		if point.Y != 0.001 {
			t.Fatalf("0 us is drawn at %g ms, want 0.001", point.Y)
		}
	}
}
