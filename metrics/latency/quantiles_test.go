package latency

import (
	"math"
	"reflect"
	"testing"

	"kvlab/metrics"
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

// Published: two-sided 95 % intervals of p99 begin at 368 samples, of p99.9 at
// 3,688; and of the values 1 to 1000 us every interval encloses its quantile.
func TestQuantileIntervals(t *testing.T) {
	d := NewDistribution()
	for micros := range uint32(1000) {
		d.record(micros+1, 1)
	}
	if QuantilesOf(d, 5).CI95 != nil || len(QuantilesOf(d, 367).CI95) != 3 || len(QuantilesOf(d, 368).CI95) != 4 {
		t.Error("intervals appear with too few samples, or do not with enough")
	}
	q := QuantilesOf(d, 1000)
	for _, tt := range []struct {
		value float64
		ci    [2]float64
	}{{*q.P50, q.CI95["p50"]}, {*q.P90, q.CI95["p90"]}, {*q.P95, q.CI95["p95"]}, {*q.P99, q.CI95["p99"]}} {
		if tt.ci[0] >= tt.value || tt.ci[1] <= tt.value {
			t.Errorf("%v is not inside its interval %v", tt.value, tt.ci)
		}
	}
	if ci := q.CI95["p50"]; ci != [2]float64{469, 532} { // 500 -+ 1.96 sqrt(1000/4)
		t.Errorf("interval of the median of 1..1000: %v", ci)
	}
}
