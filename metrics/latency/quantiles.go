package latency

import (
	"math"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// Samples returns the number of independent samples that the quantile q, 0 < q
// < 1, needs: the smallest n for which 1 - q^n >= 0.95, that is the chance that
// the highest of n samples lies above the quantile, so that the sample gives an
// upper 95 % confidence bound for it at all (distribution-free, one-sided; David
// and Nagaraja, Order Statistics, 3rd ed. 2003, section 7.1). p50 needs 5, p90
// 29, p99 299, p99.9 2,995, p99.99 29,956.
func Samples(q float64) uint64 {
	return uint64(math.Ceil(math.Log(0.05) / math.Log(q)))
}

// QuantilesOf reads the usual quantiles off d. samples is how many independent
// samples stand behind it, the number of calls; a quantile that needs more is
// nil.
func QuantilesOf(d *Distribution, samples uint64) metrics.Quantiles {
	at := func(q float64) *float64 {
		if samples < Samples(q) {
			return nil
		}
		micros := float64(d.ValueAtQuantile(100 * q))
		return &micros
	}
	return metrics.Quantiles{
		Count:      samples,
		Mean:       d.Mean(),
		P50:        at(0.5),
		P90:        at(0.9),
		P99:        at(0.99),
		P999:       at(0.999),
		P9999:      at(0.9999),
		Max:        float64(d.Max()),
		OutOfRange: d.OutOfRange,
		CI95:       intervalsOf(d, samples),
	}
}

// intervalsOf returns the quantiles' intervals, nil when samples support none.
func intervalsOf(d *Distribution, samples uint64) *metrics.QuantileIntervals {
	at := func(q float64) *[2]float64 {
		low, high, ok := stats.QuantileRanks(samples, q, 0.95)
		if !ok {
			return nil
		}
		value := func(rank uint64) float64 {
			return float64(d.ValueAtQuantile(100 * float64(rank) / float64(samples)))
		}
		return &[2]float64{value(low), value(high)}
	}
	i := metrics.QuantileIntervals{P50: at(0.5), P90: at(0.9), P99: at(0.99), P999: at(0.999), P9999: at(0.9999)}
	if i == (metrics.QuantileIntervals{}) {
		return nil
	}
	return &i
}
