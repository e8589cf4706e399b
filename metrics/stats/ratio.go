package stats

import (
	"fmt"
	"math"
	"sync"

	statistics "gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Ratio is how one sample compares with another.
type Ratio struct {
	Value     float64 // of the geometric means
	Low, High float64 // its interval
	Smallest  float64 // the difference that 4 of 5 such comparisons detect, as a share: 0.02 is 2 %
}

const (
	// RatioTrials is the minimum number of values of each sample for an interval. With 2
	// pairs, the t quantile for 99.5 % is 127, and the interval is of no use.
	RatioTrials = 3

	// TogetherConfidence is the confidence of the interval that decides whether two
	// configurations differ whose trials ran at the same time. If 20 equal configurations
	// are compared, more than one comparison finds a difference in 0.4 % of the cases. With
	// 95 % it would be 26 %.
	TogetherConfidence = 0.995
)

// RatioOf is the geometric mean of b over that of a, with Student's t interval of the
// difference of the logarithms' means. Of pairs, values of one index that were
// measured one after the other or at the same time, it is the interval of the mean of
// the differences, so that drift affects both alike and cancels (Student, The
// Probable Error of a Mean, Biometrika 6, 1908). Otherwise it is Welch's, which does
// not assume equal variances (Welch, The Generalization of Student's Problem,
// Biometrika 34, 1947).
//
// It wants a normal distribution. If noise meets a and b alike, the logarithm of their
// ratio is at least symmetric where they do not differ, and of symmetric distributions
// those with long tails make the interval miss less often than it should, not more
// (Efron, Student's t-Test Under Symmetry Conditions, Journal of the American
// Statistical Association 64, 1969).
//
// The values must be above 0, those of pairs of one length, 0 < confidence < 1. ok is
// false, with Value alone set, when a sample has fewer than RatioTrials values.
// Smallest is the sum of the t quantiles of the interval's end and of 80 %, times the
// standard error.
func RatioOf(a, b []float64, paired bool, confidence float64) (r Ratio, ok bool) {
	logA, logB := logs(a), logs(b)
	r.Value = math.Exp(statistics.Mean(logB, nil) - statistics.Mean(logA, nil))
	if min(len(a), len(b)) < RatioTrials {
		return r, false
	}
	difference := welch(logA, logB)
	if paired {
		for i := range logB {
			logB[i] -= logA[i]
		}
		difference = meanOf(logB)
	}
	low, high := difference.interval(confidence)
	r.Low, r.High = math.Exp(low), math.Exp(high)
	r.Smallest = math.Exp((difference.quantile((1+confidence)/2)+difference.quantile(0.8))*difference.standardError) - 1
	return r, true
}

// estimate is a mean, or a difference of means, whose error over its standard error has
// Student's t distribution.
type estimate struct{ mean, standardError, freedom float64 }

// meanOf is the mean of at least 2 values.
func meanOf(values []float64) estimate {
	n := float64(len(values))
	mean, deviation := statistics.MeanStdDev(values, nil)
	return estimate{mean, deviation / math.Sqrt(n), n - 1}
}

// welch is the difference of the means of two samples, of b and a.
func welch(a, b []float64) estimate {
	meanA, varA := statistics.MeanVariance(a, nil)
	meanB, varB := statistics.MeanVariance(b, nil)
	nA, nB := float64(len(a)), float64(len(b))
	varA, varB = varA/nA, varB/nB
	sum := varA + varB
	if sum == 0 {
		return estimate{meanB - meanA, 0, nA + nB - 2}
	}
	return estimate{meanB - meanA, math.Sqrt(sum), sum * sum / (varA*varA/(nA-1) + varB*varB/(nB-1))}
}

func (e estimate) student() distuv.StudentsT { return distuv.StudentsT{Sigma: 1, Nu: e.freedom} }

// quantile is that of student, 0 < p < 1. Its search takes some microseconds. Tests of the
// same number of values have the same quantiles, so those of whole degrees of freedom are
// kept.
func (e estimate) quantile(p float64) float64 {
	if e.freedom != math.Trunc(e.freedom) {
		return e.student().Quantile(p)
	}
	return quantiles.of(quantileKey{e.freedom, p})
}

// quantiles are those that were computed last.
var quantiles = quantileTable{most: 1 << 12}

type quantileKey struct{ freedom, p float64 }

// quantileTable has at most a number of Student's quantiles.
type quantileTable struct {
	most  int
	mu    sync.Mutex
	known map[quantileKey]float64
}

func (t *quantileTable) of(k quantileKey) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	q, ok := t.known[k]
	if ok {
		return q
	}
	if len(t.known) >= t.most || t.known == nil {
		t.known = make(map[quantileKey]float64)
	}
	q = estimate{freedom: k.freedom}.student().Quantile(k.p)
	t.known[k] = q
	return q
}

// interval is the interval of a confidence.
func (e estimate) interval(confidence float64) (low, high float64) {
	beyond := e.quantile((1+confidence)/2) * e.standardError
	return e.mean - beyond, e.mean + beyond
}

// below is the p value of the one-sided t test of a mean of at least x: small if the mean
// is below x. The standard error must be above 0.
func (e estimate) below(x float64) float64 {
	return e.student().CDF((e.mean - x) / e.standardError)
}

func logs(values []float64) []float64 {
	logs := make([]float64, len(values))
	for i, v := range values {
		logs[i] = math.Log(v)
	}
	return logs
}

// SmallestPercent is Smallest for people, "2.3 %".
func (r Ratio) SmallestPercent() string {
	if percent := 100 * r.Smallest; percent >= 10 {
		return fmt.Sprintf("%.0f %%", percent)
	}
	return fmt.Sprintf("%.2g %%", 100*r.Smallest)
}
