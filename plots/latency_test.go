package plots

import (
	"math"
	"testing"

	"kvlab/metrics"
)

func TestSupportedNinesIsTheInverseOfSamples(t *testing.T) {
	for _, q := range []float64{0.9, 0.99, 0.999, 0.9999} {
		n := int64(metrics.Samples(q))
		if got := SupportedNines(n); got < Nines(q) {
			t.Errorf("SupportedNines(%d) = %g, want at least %g (p%g)", n, got, Nines(q), 100*q)
		}
		if got := SupportedNines(n - 1); got >= Nines(q) {
			t.Errorf("SupportedNines(%d) = %g, want less than %g (p%g)", n-1, got, Nines(q), 100*q)
		}
	}
	if got := SupportedNines(0); got != 0 {
		t.Errorf("SupportedNines(0) = %g, want 0", got)
	}
}

func TestLatencyCurve(t *testing.T) {
	d := metrics.NewDistribution()
	for ms := range int64(1000) { // 1 ms, 2 ms, ... 1000 ms
		if err := d.RecordValue((ms + 1) * 1000); err != nil {
			t.Fatal(err)
		}
	}
	curve := LatencyCurve(d, 2.5)
	if last := curve[len(curve)-1].X; last != 2.5 {
		t.Errorf("the curve ends at %g nines, want 2.5", last)
	}
	for _, q := range []float64{0, 0.5, 0.9, 0.99} {
		got := milestones{curve: curve}.at(Nines(q)).Y
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
	if curve := LatencyCurve(metrics.NewDistribution(), 3); curve != nil {
		t.Errorf("an empty distribution has the curve %v, want none", curve)
	}
}

func TestLatencyCurveHasNoZero(t *testing.T) {
	d := metrics.NewDistribution()
	if err := d.RecordValue(0); err != nil {
		t.Fatal(err)
	}
	for _, point := range LatencyCurve(d, 1) {
		if point.Y != 0.001 {
			t.Fatalf("0 us is drawn at %g ms, want 0.001", point.Y)
		}
	}
}

func TestLoadMergesTheWindowOfEveryClient(t *testing.T) {
	r := load(t, makeRun(t, plan{servers: 1, clients: 3, windowS: 4, clientOpsPerS: 2e6, verdict: valid, seed: 11}))
	calls := uint64(0)
	for _, log := range r.logs(metrics.Client) {
		for _, i := range log.Intervals {
			if i.Value.Phase == metrics.Window {
				calls += i.Value.Counts.Calls
			}
		}
	}
	if got := uint64(r.Latencies.Call.TotalCount()); got != calls {
		t.Errorf("%d calls were timed, want %d", got, calls)
	}
	if got := uint64(r.Latencies.Op.TotalCount()); got != calls*opsPerCall {
		t.Errorf("%d operations were timed, want %d", got, calls*opsPerCall)
	}
}

func TestLogRange(t *testing.T) {
	for _, test := range []struct{ low, high, wantLow, wantHigh float64 }{
		{1.3, 63, 1, 100}, {0.11, 7.9, 0.1, 10}, {0.001, 3.9, 0.0005, 5}, {3, 3, 2, 5},
	} {
		low, high := logRange(test.low, test.high)
		if math.Abs(low/test.wantLow-1) > 1e-9 || math.Abs(high/test.wantHigh-1) > 1e-9 {
			t.Errorf("logRange(%g, %g) = %g, %g, want %g, %g", test.low, test.high, low, high, test.wantLow, test.wantHigh)
		}
	}
}
