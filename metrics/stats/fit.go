package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// falseAlarm is how often a Fit accuses an honest sample.
	falseAlarm = 1e-9
	// tolerated is the root mean square deviation of a share, as a part of that
	// share, that a Fit does not report however large the sample: for what theory
	// rounds, which is a hundredth of it.
	tolerated = 0.003
	// fewest is how many observations a cell is expected to have at least; smaller
	// ones are put together. Five are the textbook's, for alarms at 5 %.
	fewest = 25
)

// Fit is Pearson's chi-square test of counts against the shares that a law gives
// them. The zero Fit has seen nothing. Several samples may be added up.
type Fit struct {
	Observed  uint64  // observations
	Statistic float64 // sum over cells of (observed-expected)^2 / variance
	Freedom   int     // degrees of freedom
}

// Add takes in a sample: counts that fall into cells with the given shares of
// their sum. Shares need not sum to 1. spread is what is not known of a cell's
// share, as a variance, in the unit of shares.
func (f *Fit) Add(counts []uint64, shares []float64, spread float64) {
	var n uint64
	whole := 0.0
	for i, c := range counts {
		n += c
		whole += shares[i]
	}
	if n == 0 || whole <= 0 {
		return
	}
	unknown := spread * (float64(n) / whole) * (float64(n) / whole)
	cells, rest := 0, cell{}
	take := func(c cell) {
		f.Statistic += (c.observed - c.expected) * (c.observed - c.expected) / (c.expected + c.unknown)
		cells++
	}
	for i, count := range counts {
		c := cell{float64(count), float64(n) * shares[i] / whole, unknown}
		if c.expected >= fewest {
			take(c)
		} else {
			rest = cell{rest.observed + c.observed, rest.expected + c.expected, rest.unknown + c.unknown}
		}
	}
	if rest.expected >= fewest {
		take(rest)
	}
	f.Observed += n
	f.Freedom += max(0, cells-1)
}

type cell struct{ observed, expected, unknown float64 }

// Limit is the highest statistic of a sample that follows its law: chi-square's
// quantile, and what the tolerated deviation adds to it at most. The statistic is
// the squared length of a vector, noise plus deviation, so the lengths add up.
func (f Fit) Limit() float64 {
	if f.Freedom == 0 {
		return math.Inf(1)
	}
	noise := math.Sqrt(distuv.ChiSquared{K: float64(f.Freedom)}.Quantile(1 - falseAlarm))
	deviation := tolerated * math.Sqrt(float64(f.Observed))
	return (noise + deviation) * (noise + deviation)
}

// Fits reports whether the counts may follow the law. A sample that does is
// refused once in 10^9 times.
func (f Fit) Fits() bool { return f.Statistic <= f.Limit() }
