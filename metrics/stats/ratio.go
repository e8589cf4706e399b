package stats

import (
	"fmt"
	"math"

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
	meanA, meanB := statistics.Mean(logA, nil), statistics.Mean(logB, nil)
	r.Value = math.Exp(meanB - meanA)
	if min(len(a), len(b)) < RatioTrials {
		return r, false
	}
	freedom, standardError := welch(logA, logB)
	if paired {
		for i := range logB {
			logB[i] -= logA[i]
		}
		n := float64(len(logB))
		freedom, standardError = n-1, statistics.StdDev(logB, nil)/math.Sqrt(n)
	}
	student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}
	beyond := student.Quantile((1 + confidence) / 2)
	r.Low, r.High = r.Value*math.Exp(-beyond*standardError), r.Value*math.Exp(beyond*standardError)
	r.Smallest = math.Exp((beyond+student.Quantile(0.8))*standardError) - 1
	return r, true
}

// welch is the standard error of the difference of two samples' means, and its
// degrees of freedom.
func welch(a, b []float64) (freedom, standardError float64) {
	nA, nB := float64(len(a)), float64(len(b))
	varA, varB := statistics.Variance(a, nil)/nA, statistics.Variance(b, nil)/nB
	sum := varA + varB
	if sum == 0 {
		return nA + nB - 2, 0
	}
	return sum * sum / (varA*varA/(nA-1) + varB*varB/(nB-1)), math.Sqrt(sum)
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
