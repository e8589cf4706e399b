package stats

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Outcome says where the mean of a comparison lies, relative to a range.
type Outcome int

// The outcomes of a comparison with a range.
const (
	Undecided Outcome = iota
	Inside
	Below
	Above
)

// Words are the names of the outcomes in one use.
type Words[T ~string] struct{ Inside, Below, Above, Undecided T }

// Of returns the word of an outcome.
func (w Words[T]) Of(o Outcome) T { return []T{w.Undecided, w.Inside, w.Below, w.Above}[o] }

// Between returns the outcome of a mean that is surely between low and high.
func Between(low, high, from, to float64) Outcome {
	switch {
	case from <= low && high <= to:
		return Inside
	case high < from:
		return Below
	case low > to:
		return Above
	}
	return Undecided
}

// RangeTest says whether the mean of a comparison is in a range. One end of the range may be
// infinite.
//
// A claim that holds and one that does not are two hypotheses, and either must be shown.
// That the mean is inside is shown by two one-sided tests, one for each end (Schuirmann, A
// Comparison of the Two One-Sided Tests Procedure and the Power Approach, Journal of
// Pharmacokinetics and Biopharmaceutics 15, 1987): at 5 %, the 90 % interval is within the
// range. That it is outside of a range with two ends is shown by a two-sided test: at 5 %,
// the 95 % interval is wholly outside. Of one end, both tests are one-sided.
type RangeTest struct {
	Comparison
	Inside  float64 // p value of a mean that is not inside: if it is small, the mean is inside
	Outside float64 // p value of a mean that is inside: if it is small, the mean is outside

	from, to float64 // the range
}

// In tests whether the mean is from one end to another. Without an interval, nothing is
// shown.
func (c Comparison) In(from, to float64) RangeTest {
	t := RangeTest{c, 1, 1, from, to}
	switch {
	case !c.Known:
	case c.deviation > 0:
		above := func(x float64) float64 { return estimate{-c.mean, c.standardError, c.freedom}.below(-x) }
		t.Inside = max(above(from), c.below(to))
		t.Outside = min(1, t.sides()*min(c.below(from), above(to)))
	case from <= c.mean && c.mean <= to:
		t.Inside = 0
	default:
		t.Outside = 0
	}
	return t
}

// Outcome returns what is shown at a level of alpha.
func (t RangeTest) Outcome(alpha float64) Outcome {
	switch {
	case t.Inside <= alpha:
		return Inside
	case t.Outside > alpha:
		return Undecided
	case t.mean < t.from:
		return Below
	}
	return Above
}

// sides returns the number of ends of the range beyond which the mean may be.
func (t RangeTest) sides() float64 {
	if math.IsInf(t.from, -1) || math.IsInf(t.to, 1) {
		return 1
	}
	return 2
}

// AllInside returns the p value of the tests together: if it is small, every mean is inside. All
// must be shown, so nothing is corrected (Berger, Multiparameter Hypothesis Testing and
// Acceptance Sampling, Technometrics 24, 1982).
func AllInside(tests []RangeTest) float64 {
	p := 0.0
	for _, t := range tests {
		p = max(p, t.Inside)
	}
	return p
}

// AnyOutside returns the p value of the tests together: if it is small, at least one mean is
// outside. It is the first step of Holm's correction.
func AnyOutside(tests []RangeTest) float64 {
	p := 1.0
	for _, t := range tests {
		p = min(p, t.Outside*float64(len(tests)))
	}
	return p
}

// Holm says which of the hypotheses with these p values are rejected, so that one or more
// true ones are with a probability of at most alpha (Holm, A Simple Sequentially Rejective
// Multiple Test Procedure, Scandinavian Journal of Statistics 6, 1979).
func Holm(p []float64, alpha float64) []bool {
	rejected, order := make([]bool, len(p)), make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	for done, i := range order {
		if p[i] > alpha/float64(len(p)-done) {
			break
		}
		rejected[i] = true
	}
	return rejected
}

// The rounds that RoundsNeeded counts decide in this share of the cases; it counts up to
// mostRounds.
const (
	power      = 0.8
	mostRounds = 1000
)

// RoundsNeeded returns the number of values of each test with which AllInside is at most inside,
// or AnyOutside at most outside, in 4 of 5 cases, if the means and the deviations are as
// they were measured; 0 if more than 1000 are needed. The normal distribution stands for
// the noncentral t: this is a number to plan by.
func RoundsNeeded(tests []RangeTest, inside, outside float64) int {
	enough := func(n int) bool {
		student := estimate{freedom: float64(n - 1)}
		alpha := outside / float64(len(tests))
		within, beyond := student.quantile(1-inside), map[float64]float64{1: student.quantile(1 - alpha), 2: student.quantile(1 - alpha/2)}
		held, failed := 1.0, 0.0 // bounds of the probabilities of all and of any
		for _, t := range tests {
			held += t.shown(n, t.mean-t.from, within) + t.shown(n, t.to-t.mean, within) - 2
			failed = max(failed, t.shown(n, max(t.from-t.mean, t.mean-t.to), beyond[t.sides()]))
		}
		return max(held, failed) >= power
	}
	n := RatioTrials + sort.Search(mostRounds-RatioTrials+1, func(n int) bool { return enough(RatioTrials + n) })
	if n > mostRounds {
		return 0
	}
	return n
}

// shown returns the probability that n values show a mean to be beyond an end, from which it is
// that far away, with a quantile of Student's t.
func (t RangeTest) shown(n int, distance, quantile float64) float64 {
	if t.deviation == 0 {
		return map[bool]float64{true: 1}[distance >= 0]
	}
	return distuv.UnitNormal.CDF(distance*math.Sqrt(float64(n))/t.deviation - quantile)
}
