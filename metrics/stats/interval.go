// Package stats computes medians and their intervals, ratios, trends, goodness of fit,
// and the limits of links and routers.
package stats

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"

	"kvlab/metrics/format"
)

// Estimate is the median of repeated measurements, and an interval that holds the true
// median with a known probability.
type Estimate struct {
	N        int     `json:"n"` // measurements
	Median   float64 `json:"median"`
	Low      float64 `json:"low"`      // 0 when there is no interval, as are the next two
	High     float64 `json:"high"`     // Low and High are two of the measurements
	Coverage float64 `json:"coverage"` // the exact probability, at least the confidence asked for, below 1
}

// MedianInterval returns the median of independent values of any one distribution and
// its narrowest symmetric order-statistic interval: the k-th smallest and the
// k-th largest value, with the largest k that covers the true median with at
// least the confidence, 0 < confidence < 1. They miss it when fewer than k values
// fall on one side, so the coverage is 1 - 2 P(Bin(n, 1/2) < k) (David and
// Nagaraja, Order Statistics, 3rd ed. 2003, section 7.1). For 95 %: 6 values give
// [x1, x6] with 96.9 %, 10 give [x2, x9] with 97.9 %.
//
// ok is false when even the smallest and the largest value cover less, which for
// 95 % are fewer than 6 values; only N and Median are set then. values are not
// changed.
func MedianInterval(values []float64, confidence float64) (e Estimate, ok bool) {
	n := len(values)
	if n == 0 {
		return Estimate{}, false
	}
	e = Estimate{N: n, Median: Median(values)}
	low, high, ok := QuantileRanks(uint64(n), 0.5, confidence)
	if !ok {
		return e, false
	}
	sorted := slices.Sorted(slices.Values(values))
	e.Low, e.High = sorted[low-1], sorted[high-1]
	e.Coverage = 1 - 2*distuv.Binomial{N: float64(n), P: 0.5}.CDF(float64(low-1))
	return e, true
}

// QuantileRanks returns which of n independent samples in ascending order,
// counted from 1, enclose the quantile q, 0 < q < 1, with at least the
// confidence, 0 < confidence < 1, and on either side at most half of what it
// leaves: the number of samples below a quantile is binomially distributed, so
// the quantile lies below the low-th with probability P(Bin(n, q) < low), and
// above the high-th with P(Bin(n, q) >= high) (distribution-free; David and
// Nagaraja, Order Statistics, 3rd ed. 2003, section 7.1). ok is false if n is too
// small for such a pair: p99 needs 368 samples for 95 %.
func QuantileRanks(n uint64, q, confidence float64) (low, high uint64, ok bool) {
	if n == 0 {
		return 0, 0, false
	}
	below := distuv.Binomial{N: float64(n), P: q}
	side := (1 - confidence) / 2
	// low is the first k, from 0, for which P(Bin <= k) is above side. high is one more than
	// the first k for which P(Bin > k) is at most side.
	low = uint64(sort.Search(int(n), func(k int) bool { return below.CDF(float64(k)) > side }))
	high = uint64(sort.Search(int(n), func(k int) bool { return 1-below.CDF(float64(k)) <= side })) + 1
	return low, high, low >= 1 && high <= n
}

// Median returns the middle one of values, or the mean of the middle two. It is NaN
// for none. values are not changed.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// HalfWidth returns half the interval's length as a share of the median, 0.02 for
// 2 %; +Inf when there is no interval or the median is not positive.
func (e Estimate) HalfWidth() float64 {
	if e.Coverage == 0 || e.Median <= 0 {
		return math.Inf(1)
	}
	return (e.High - e.Low) / 2 / e.Median
}

// String is for people: "12.4M [12.1M, 12.6M] (96.9 % interval of 6)", or
// "12.4M (median of 3, too few for an interval)".
func (e Estimate) String() string {
	switch {
	case e.N == 0:
		return "no values"
	case e.N == 1:
		return format.Count(e.Median) + " (one value, no interval)"
	case e.Coverage == 0:
		return fmt.Sprintf("%s (median of %d, too few for an interval)", format.Count(e.Median), e.N)
	}
	return fmt.Sprintf("%s [%s, %s] (%.1f %% interval of %d)", format.Count(e.Median), format.Count(e.Low), format.Count(e.High), 100*e.Coverage, e.N)
}
