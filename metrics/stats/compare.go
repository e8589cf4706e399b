package stats

import (
	"fmt"
	"math"
	"sync"

	statistics "gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Sampling is how two samples were measured.
type Sampling int

// The ways to measure two samples.
const (
	Paired Sampling = iota // values of one index one after the other, or at the same time
	Apart                  // not in pairs
	Again                  // at another time or place; one of them may have too few values for an interval
)

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

// Comparison is the mean of a quantity, such as the logarithm of a ratio, and its error. The
// zero Comparison is of no values.
type Comparison struct {
	estimate
	Known bool // there are enough values for an interval; otherwise there is the mean alone

	deviation float64 // of one value, or of the difference of two
}

// Compare returns the logarithm of the geometric mean of b over that of a, with Student's t
// distribution. Everything that compares two results does it here.
//
// Of pairs, it is the mean of the differences of the logarithms, so that drift affects both
// alike and cancels (Student, The Probable Error of a Mean, Biometrika 6, 1908). Without a,
// it is the mean of the logarithms of b.
//
// Otherwise it is Welch's difference of the means, which does not assume equal variances
// (Welch, The Generalization of Student's Problem, Biometrika 34, 1947). Of a sample that was
// measured again, with fewer than RatioTrials values, the variance is taken for that of the
// other, so the intervals are prediction intervals for the mean of so many values (Hahn and
// Meeker, Statistical Intervals, 1991, section 4.8).
//
// It wants a normal distribution. If noise meets a and b alike, the logarithm of their
// ratio is at least symmetric where they do not differ, and of symmetric distributions
// those with long tails make the interval miss less often than it should, not more
// (Efron, Student's t-Test Under Symmetry Conditions, Journal of the American
// Statistical Association 64, 1969).
//
// The values must be above 0, and those of pairs of one length.
func Compare(a, b []float64, how Sampling) Comparison {
	logA, logB := logs(a), logs(b)
	if how == Paired {
		for i := range logA {
			logB[i] -= logA[i]
		}
		return MeanOf(logB)
	}
	few, many := logA, logB
	if len(few) > len(many) {
		few, many = many, few
	}
	if len(few) == 0 {
		return Comparison{}
	}
	if how == Again && len(few) < RatioTrials && len(many) >= RatioTrials {
		deviation := statistics.StdDev(many, nil)
		e := estimate{
			mean:          statistics.Mean(logB, nil) - statistics.Mean(logA, nil),
			standardError: deviation * math.Sqrt(1/float64(len(a))+1/float64(len(b))),
			freedom:       float64(len(many) - 1),
		}
		return Comparison{e, true, deviation * math.Sqrt2}
	}
	deviation := math.Sqrt(statistics.Variance(logA, nil) + statistics.Variance(logB, nil))
	return Comparison{welch(logA, logB), len(few) >= RatioTrials, deviation}
}

// MeanOf returns the mean of some values.
func MeanOf(values []float64) Comparison {
	if len(values) == 0 {
		return Comparison{}
	}
	e := meanOf(values)
	return Comparison{e, len(values) >= RatioTrials, e.standardError * math.Sqrt(float64(len(values)))}
}

// Mean returns the mean; of ratios, it is a logarithm.
func (c Comparison) Mean() float64 { return c.mean }

// Ratio returns the ratio of the geometric means.
func (c Comparison) Ratio() float64 { return math.Exp(c.mean) }

// Interval returns the interval of the mean; 0 and 0 if there is none. A confidence is between
// 0 and 1.
func (c Comparison) Interval(confidence float64) (low, high float64) {
	if !c.Known {
		return 0, 0
	}
	return c.interval(confidence)
}

// RatioInterval returns the interval of the ratio; 0 and 0 if there is none.
func (c Comparison) RatioInterval(confidence float64) (low, high float64) {
	if !c.Known {
		return 0, 0
	}
	low, high = c.interval(confidence)
	return math.Exp(low), math.Exp(high)
}

// Smallest returns the difference that 4 of 5 such comparisons detect, as a share: 0.02 is
// 2 %. It is the sum of the t quantiles of the interval's end and of 80 %, times the standard
// error. There must be an interval.
func (c Comparison) Smallest(confidence float64) float64 {
	return math.Exp((c.quantile((1+confidence)/2)+c.quantile(0.8))*c.standardError) - 1
}

// SmallestPercent returns Smallest for people, "2.3 %".
func (c Comparison) SmallestPercent(confidence float64) string {
	return percentOf(c.Smallest(confidence))
}

func percentOf(share float64) string {
	if percent := 100 * share; percent >= 10 {
		return fmt.Sprintf("%.0f %%", percent)
	}
	return fmt.Sprintf("%.2g %%", 100*share)
}

// estimate is a mean, or a difference of means, whose error over its standard error has
// Student's t distribution.
type estimate struct{ mean, standardError, freedom float64 }

// meanOf returns the mean of at least 2 values.
func meanOf(values []float64) estimate {
	n := float64(len(values))
	mean, deviation := statistics.MeanStdDev(values, nil)
	return estimate{mean, deviation / math.Sqrt(n), n - 1}
}

// welch returns the difference of the means of two samples, of b and a.
func welch(a, b []float64) estimate { return meanOf(b).less(meanOf(a)) }

func (e estimate) student() distuv.StudentsT { return distuv.StudentsT{Sigma: 1, Nu: e.freedom} }

// quantile returns Student's quantile, 0 < p < 1. Its search takes some microseconds. Tests
// of the same number of values have the same quantiles, so those of whole degrees of freedom
// are kept.
func (e estimate) quantile(p float64) float64 {
	if e.freedom != math.Trunc(e.freedom) {
		return e.student().Quantile(p)
	}
	key := [2]float64{e.freedom, p}
	q, known := quantiles.Load(key)
	if !known {
		q, _ = quantiles.LoadOrStore(key, e.student().Quantile(p))
	}
	return q.(float64)
}

// quantiles holds the quantiles computed so far, by degrees of freedom and p.
var quantiles sync.Map

// interval returns the interval of a confidence.
func (e estimate) interval(confidence float64) (low, high float64) {
	beyond := e.quantile((1+confidence)/2) * e.standardError
	return e.mean - beyond, e.mean + beyond
}

// below returns the p value of the one-sided t test of a mean of at least x: small if the mean
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
