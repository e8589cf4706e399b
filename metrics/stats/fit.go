package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// falseAlarm is the probability that a Fit rejects a sample that follows its law.
	falseAlarm = 1e-9
	// tolerated is the relative root mean square deviation of shares that a Fit accepts
	// in a sample of any size. The rounding of theory is a hundredth of it.
	tolerated = 0.003
	// fewest is the minimum number of expected observations of a cell. Smaller cells are
	// merged. Textbooks use 5, for alarms at 5 %.
	fewest = 25
)

// Fit is Pearson's chi-square test of counts against the shares that a law gives
// them. The zero Fit has no observations. Several samples may be added.
type Fit struct {
	Observed  uint64  // observations
	Statistic float64 // sum over cells of (observed-expected)^2 / variance
	Freedom   int     // degrees of freedom
}

// Add adds a sample: the counts of cells, and the shares that the law gives them. Shares
// need not sum to 1. spread is the variance of a cell's share that the law leaves
// unknown.
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

// Limit returns the maximum statistic of a sample that follows its law: the quantile of
// chi-square, and the most that the tolerated deviation adds. The statistic is the
// squared length of a vector, noise plus deviation, so the lengths add.
func (f Fit) Limit() float64 {
	if f.Freedom == 0 {
		return math.Inf(1)
	}
	noise := math.Sqrt(distuv.ChiSquared{K: float64(f.Freedom)}.Quantile(1 - falseAlarm))
	deviation := tolerated * math.Sqrt(float64(f.Observed))
	return (noise + deviation) * (noise + deviation)
}

// Fits reports whether the counts may follow the law. It rejects a sample that does with
// probability 10^-9.
func (f Fit) Fits() bool { return f.Statistic <= f.Limit() }

// Furthest returns the number of the cell whose count is furthest from its share.
func Furthest(counts []uint64, shares []float64) int {
	n := float64(Total(counts))
	at, most := 0, -1.0
	for i, c := range counts {
		if off := math.Abs(float64(c) - n*shares[i]); off > most {
			at, most = i, off
		}
	}
	return at
}
