package latency

import (
	"math"

	"kvlab/metrics"
)

// Samples returns the number of independent samples that the quantile q, 0 < q < 1,
// needs: the smallest n for which 1 - q^n >= 0.95. This is the probability that the
// highest of n samples lies above the quantile, so n samples have an upper 95 %
// confidence bound for it (distribution-free, one-sided; David and Nagaraja, Order
// Statistics, 3rd ed. 2003, section 7.1). p50 needs 5, p90 29, p95 59, p99 299, p99.9 2,995,
// p99.99 29,956.
func Samples(q float64) uint64 {
	return uint64(math.Ceil(math.Log(0.05) / math.Log(q)))
}

// QuantilesOf returns the quantiles of d. samples is the number of independent samples
// in d, the number of calls. A quantile that needs more is nil. There are no intervals.
func QuantilesOf(d *Distribution, samples uint64) metrics.Quantiles {
	q := metrics.Quantiles{Count: samples, Values: uint64(d.TotalCount()), Mean: d.Mean(), StdDev: d.StdDev(), Max: float64(d.Max()), OutOfRange: d.OutOfRange}
	micros := func(share float64) float64 { return float64(d.ValueAtQuantile(100 * share)) }
	for i, field := range [...]**float64{&q.P50, &q.P90, &q.P95, &q.P99, &q.P999, &q.P9999} {
		share := metrics.QuantileShares[i]
		if samples >= Samples(share) {
			*field = new(micros(share))
		}
	}
	return q
}
