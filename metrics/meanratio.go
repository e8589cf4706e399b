package metrics

import (
	"math"

	statistics "gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// TogetherConfidence is that of the interval which decides whether two configurations
// differ whose trials were made at the same time. Of 20 comparisons of what is alike,
// more than one is told apart by chance in 0.4 % of the cases; with 95 % it would be
// in 26 %.
const TogetherConfidence = 0.995

// MeanRatioPairs is how many pairs MeanRatio needs for an interval: with 2, whose t
// quantile for 99.5 % is 127, it says nothing.
const MeanRatioPairs = 3

// MeanRatio is the geometric mean of b[i]/a[i], values that were measured at the same
// time and under the same conditions, with Student's t interval of the mean of their
// logarithms (Student, The Probable Error of a Mean, Biometrika 6, 1908). Unlike an
// interval of order statistics, which has 93.75 % at most, it can have any confidence
// with 5 pairs. It wants a normal distribution. If noise meets a and b alike, the
// logarithm is at least symmetric where they do not differ, and of symmetric
// distributions those with long tails make the interval miss less often than it
// should, not more (Efron, Student's t-Test Under Symmetry Conditions, Journal of the
// American Statistical Association 64, 1969).
//
// The values must be above 0, a and b of one length, 0 < confidence < 1. ok is false,
// with Value alone set, with fewer than MeanRatioPairs. Smallest is the sum of the t quantiles
// of the interval's end and of 80 %, times the standard error.
func MeanRatio(a, b []float64, confidence float64) (r Ratio, ok bool) {
	n := len(a)
	logs := make([]float64, n)
	for i := range logs {
		logs[i] = math.Log(b[i] / a[i])
	}
	mean, deviation := statistics.MeanStdDev(logs, nil)
	r.Value = math.Exp(mean)
	if n < MeanRatioPairs {
		return r, false
	}
	student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}
	beyond, standardError := student.Quantile((1+confidence)/2), deviation/math.Sqrt(float64(n))
	r.Low, r.High = math.Exp(mean-beyond*standardError), math.Exp(mean+beyond*standardError)
	r.Smallest = math.Exp((beyond+student.Quantile(0.8))*standardError) - 1
	return r, true
}
