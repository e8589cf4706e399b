package latency

import (
	"cmp"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

func TestSamples(t *testing.T) {
	for q, want := range map[float64]uint64{0.5: 5, 0.9: 29, 0.99: 299, 0.999: 2995, 0.9999: 29956} {
		got := Samples(q)
		if got != want {
			t.Errorf("Samples(%v) = %d, want %d", q, got, want)
		}
		// the definition, without logarithms
		if bound := 1 - math.Pow(q, float64(got)); bound < 0.95 {
			t.Errorf("%d samples bound quantile %v with confidence %v only", got, q, bound)
		}
		if bound := 1 - math.Pow(q, float64(got-1)); bound >= 0.95 {
			t.Errorf("%d samples would do for quantile %v", got-1, q)
		}
	}
}

func TestQuantilesOfNeedsSamples(t *testing.T) {
	d := NewDistribution()
	for micros := range uint32(1000) {
		d.record(micros+1, 1)
	}
	shown := func(q metrics.Quantiles) (n int) {
		for _, p := range []*float64{q.P50, q.P90, q.P95, q.P99, q.P999, q.P9999} {
			if p != nil {
				n++
			}
		}
		return n
	}
	for samples, want := range map[uint64]int{0: 0, 4: 0, 5: 1, 28: 1, 29: 2, 58: 2, 59: 3, 298: 3, 299: 4, 2994: 4, 2995: 5, 29955: 5, 29956: 6} {
		if got := shown(QuantilesOf(d, samples)); got != want {
			t.Errorf("%d quantiles from %d samples, want %d", got, samples, want)
		}
	}
	q := QuantilesOf(d, 1000)
	if *q.P50 != 500 || *q.P90 != 900 || *q.P95 != 950 || *q.P99 != 990 || q.Max != 1000 || q.Mean != 500.5 || q.Count != 1000 {
		t.Errorf("quantiles of 1..1000 us: p50 %v p90 %v p99 %v max %v mean %v", *q.P50, *q.P90, *q.P99, q.Max, q.Mean)
	}
	if q := QuantilesOf(NewDistribution(), 0); !reflect.DeepEqual(q, metrics.Quantiles{}) {
		t.Errorf("quantiles of nothing = %+v", q)
	}
}

// second returns a second's values of calls as a record.
func second(t *testing.T, number int, values []uint32) metrics.Record {
	t.Helper()
	d := NewDistribution()
	for _, micros := range values {
		d.record(micros, 1)
	}
	hdr, err := d.EncodeV2()
	if err != nil {
		t.Fatal(err)
	}
	return metrics.Record{Time: time.Unix(1e9+int64(number), 0), Histogram: &metrics.Histogram{Name: metrics.CallLatency, LengthS: 1, HDR: string(hdr)}}
}

// The interval holds the true quantile in 95 % of the windows, also where whole seconds are
// slow: an interval that takes calls for independent does so in far fewer.
func TestQuantileIntervals(t *testing.T) {
	const windows, seconds, calls, seed = 60, 12, 100, 3
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	for _, slow := range []float64{0, 1} { // the logarithm's deviation from second to second
		held, naive := 0, 0
		truth := 1000.0 // the median of a lognormal distribution with either deviation
		for range windows {
			parts, all := batches{of: make(map[int64]*Distribution)}, NewDistribution()
			for n := range int64(seconds) {
				level := slow * random.NormFloat64()
				parts.of[n] = NewDistribution()
				for range calls {
					micros := uint32(truth * math.Exp(level+random.NormFloat64()))
					parts.of[n].record(micros, 1)
					all.record(micros, 1)
				}
			}
			if ci := parts.intervals(all, seconds*calls)["p50"]; ci[0] <= truth && truth <= ci[1] {
				held++
			}
			low, high, _ := stats.QuantileRanks(seconds*calls, 0.5, 0.95)
			at := func(k uint64) float64 { return float64(all.ValueAtQuantile(100 * float64(k) / (seconds * calls))) }
			if at(low) <= truth && truth <= at(high) {
				naive++
			}
		}
		if held < windows*90/100 || slow > 0 && naive > windows*60/100 {
			t.Errorf("deviation %v: %d of %d intervals hold the median, %d of those for independent calls", slow, held, windows, naive)
		}
	}
}

// A window of any length has at most 32 batches, whatever the order of its records, and one
// of 4 s has no interval.
func TestBatches(t *testing.T) {
	const seconds = 150
	there, back := NewSet(), NewSet()
	for n := range seconds {
		at := func(n int) metrics.Record { return second(t, n, []uint32{uint32(100 + n), 100, 200, 300}) }
		if err := cmp.Or(there.Add(at(n)), back.Add(at(seconds-1-n))); err != nil {
			t.Fatal(err)
		}
		if n == 3 && there.Quantiles()[metrics.CallLatency].CI95 != nil {
			t.Error("4 s have an interval")
		}
	}
	if n := len(there.calls.of); n > mostBatches || n < mostBatches/2 {
		t.Errorf("%d batches", n)
	}
	if a, b := there.Quantiles(), back.Quantiles(); !reflect.DeepEqual(a, b) || len(a[metrics.CallLatency].CI95) == 0 {
		t.Errorf("%+v in one order, %+v in the other", a, b)
	}
}
