package stats

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Stationarity is the result of a test of rates that should have settled.
type Stationarity struct {
	Stationary bool    `json:"stationary"`
	Extended   bool    `json:"extended"`    // the warm-up lasted twice as long, as its first half was not
	Seconds    int     `json:"seconds"`     // rates that were tested
	DriftShare float64 `json:"drift_share"` // from the median of the first half to that of the second, as a share of the larger
	TrendP     float64 `json:"trend_p"`     // of the Mann-Kendall test
}

// The limits of the test are this project's: half the drift that a careful comparison
// detects, and a trend that chance makes in one of a hundred runs.
const (
	maxDrift      = 0.02
	MinTrendP     = 0.01
	minStationary = 4 // seconds: two for each half
)

// CheckStationary tests rates, one for each second in their order: the medians of
// the first and the second half (a middle one is in neither) must be within 2 %
// of each other, and the Mann-Kendall test must find no trend at the level of
// 1 %, which takes 6 seconds at the least. ok is false when there are fewer than
// 4 rates.
func CheckStationary(rates []float64) (s Stationarity, ok bool) {
	n := len(rates)
	if n < minStationary {
		return s, false
	}
	first, second := Median(rates[:n/2]), Median(rates[n-n/2:])
	s.Seconds = n
	if most := max(first, second); most > 0 {
		s.DriftShare = (second - first) / most
	}
	s.TrendP = MannKendall(rates)
	s.Stationary = math.Abs(s.DriftShare) <= maxDrift && s.TrendP > MinTrendP
	return s, true
}

// CheckDrift returns CheckStationary of the seconds of a window, which are noisier than their
// medians may differ: the rates are not stationary only if a difference of the halves of over
// 2 % comes with a trend, or with a difference of the halves' means (Welch's t of the
// logarithms), that chance makes in one of a hundred windows.
func CheckDrift(rates []float64) (s Stationarity, ok bool) {
	s, ok = CheckStationary(rates)
	if s.Stationary || !ok {
		return s, ok
	}
	n := len(rates)
	counted := make([]float64, n)
	for i, rate := range rates {
		counted[i] = max(rate, 1) // so that a stalled second has a logarithm
	}
	low, high := welch(logs(counted[:n/2]), logs(counted[n-n/2:])).interval(1 - MinTrendP)
	s.Stationary = math.Abs(s.DriftShare) <= maxDrift || s.TrendP > MinTrendP && low <= 0 && high >= 0
	return s, ok
}

// Sum adds up series by place. The sum is as long as the shortest of them.
func Sum(series ...[]float64) (sum []float64) {
	for i, s := range series {
		if i == 0 {
			sum = append(sum, s...)
			continue
		}
		sum = sum[:min(len(sum), len(s))]
		for at := range sum {
			sum[at] += s[at]
		}
	}
	return sum
}

// String says what was found, for people.
func (s Stationarity) String() string {
	word := "stationary"
	if !s.Stationary {
		word = "NON-STATIONARY"
	}
	text := fmt.Sprintf("%s: the last %d s of the warm-up drift by %+.1f %%, trend p %.2g", word, s.Seconds, 100*s.DriftShare, s.TrendP)
	if s.Extended {
		text += " (warm-up extended)"
	}
	return text
}

// MannKendall returns the two-sided probability of a trend as strong as that of the
// values, in their order, if they had none (Mann, Econometrica 13, 1945; it is
// Kendall's tau against time): the normal approximation with continuity correction
// and Kendall's variance for ties (Kendall, Rank Correlation Methods, 4th ed. 1975).
// For 6 or more values, its decision at the level of 1 % equals the decision by the exact
// distribution, or is more cautious. It is 1 if all values are equal.
func MannKendall(values []float64) float64 {
	score := 0 // rising pairs less falling ones
	for i, a := range values {
		for _, b := range values[i+1:] {
			score += cmp.Compare(b, a)
		}
	}
	if score == 0 {
		return 1
	}
	return 2 * distuv.UnitNormal.Survival((math.Abs(float64(score))-1)/math.Sqrt(kendallVariance(values)))
}

// kendallVariance returns the score's variance.
func kendallVariance(values []float64) float64 {
	term := func(n int) int { return n * (n - 1) * (2*n + 5) }
	sum := term(len(values))
	same := make(map[float64]int)
	for _, v := range values {
		same[v]++
	}
	for _, n := range same {
		sum -= term(n)
	}
	return float64(sum) / 18
}
