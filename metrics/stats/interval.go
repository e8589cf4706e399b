// Package stats says what repeated measurements mean: medians and their intervals,
// ratios, trends, goodness of fit, and what links and routers allow in theory.
package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"kvlab/metrics/format"
)

// Estimate is what repeated measurements say of the quantity behind them: their
// median, and an interval that holds the true median with a known probability.
type Estimate struct {
	N        int     `json:"n"` // measurements
	Median   float64 `json:"median"`
	Low      float64 `json:"low"`      // 0 when there is no interval, as are the next two
	High     float64 `json:"high"`     // Low and High are two of the measurements
	Coverage float64 `json:"coverage"` // the probability, exactly: at least the confidence asked for, below 1
}

// MedianInterval is the median of independent values of any one distribution and
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
	below := distuv.Binomial{N: float64(n), P: 0.5}
	k := 0
	for next := 1; 2*next <= n; next++ {
		coverage := 1 - 2*below.CDF(float64(next-1))
		if coverage < confidence {
			break
		}
		k, e.Coverage = next, coverage
	}
	if k == 0 {
		return e, false
	}
	sorted := slices.Sorted(slices.Values(values))
	e.Low, e.High = sorted[k-1], sorted[n-k]
	return e, true
}

// Median is the middle one of values, or the mean of the middle two. It is NaN
// for none. values are not changed.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// HalfWidth is half the interval's length as a share of the median, 0.02 for
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
