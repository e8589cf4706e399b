package latency

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"

	"kvlab/metrics"
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
		low, high, ok := QuantileRanks(samples, q, 0.95)
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

// QuantileRanks returns which of n independent samples in ascending order,
// counted from 1, enclose the quantile q, 0 < q < 1, with at least the
// confidence, 0 < confidence < 1, and on either side at most half of what it
// leaves: the number of samples below a quantile is binomially distributed, so
// the quantile lies below the low-th with probability P(Bin(n, q) < low), and
// above the high-th with P(Bin(n, q) >= high) (distribution-free; David and
// Nagaraja, Order Statistics, 3rd ed. 2003, section 7.1). ok is false where so
// few samples have no such pair: p99 needs 368 for 95 %.
func QuantileRanks(n uint64, q, confidence float64) (low, high uint64, ok bool) {
	if n == 0 {
		return 0, 0, false
	}
	below := distuv.Binomial{N: float64(n), P: q}
	side := (1 - confidence) / 2
	// The first k, from 0, for which so few samples lie below with probability
	// more than side, and the first for which more do with at most side.
	low = uint64(sort.Search(int(n), func(k int) bool { return below.CDF(float64(k)) > side }))
	high = uint64(sort.Search(int(n), func(k int) bool { return 1-below.CDF(float64(k)) <= side })) + 1
	return low, high, low >= 1 && high <= n
}
