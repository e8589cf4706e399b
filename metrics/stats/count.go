package stats

import "math"

// countTolerance is the relative deviation of a count from theory that is accepted in a
// sample of any size. The rounding of theory is a fraction of it.
const countTolerance = 0.003

// Count is a number of independent events as theory has it, and as it was. The events may
// also be negatively associated, as those that each of several keys is in a sample are:
// the same bounds hold (D. Dubhashi and D. Ranjan, "Balls and bins: a study in negative
// dependence", Random Structures and Algorithms 1998).
type Count struct {
	Observed       uint64
	Mean, Variance float64
	Largest        float64 // the most that one event adds; 0 stands for 1
}

// Add adds n events of a probability.
func (c *Count) Add(n, probability float64) {
	c.Mean += n * probability
	c.Variance += n * probability * (1 - probability)
}

// Improbable reports whether an honest run has this count or one further off at most once
// in 10^9 runs. It is one of a number of checks.
func (c Count) Improbable(checks int) bool {
	off := math.Abs(float64(c.Observed) - c.Mean)
	return off > Bernstein(c.Variance, max(1, c.Largest), 1e-9/float64(checks))+countTolerance*c.Mean
}

// Bernstein returns the distance from its mean that a sum of independent variables exceeds at
// most with a probability, given the sum's variance and the most that one variable adds
// (S. Bernstein's inequality; Boucheron, Lugosi and Massart, Concentration Inequalities,
// 2013, section 2.8).
func Bernstein(variance, largest, probability float64) float64 {
	if variance == 0 {
		return 0
	}
	rare := math.Log(2 / probability)
	return largest*rare/3 + math.Sqrt(largest*largest*rare*rare/9+2*variance*rare)
}
