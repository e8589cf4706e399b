package plots

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// ticks are about n round values along an axis, each labelled by name.
type ticks struct {
	n    int
	name func(float64) string
}

// Ticks returns the ticks within [low, high].
func (t ticks) Ticks(low, high float64) []plot.Tick {
	step := roundStep((high - low) / float64(t.n))
	var marks []plot.Tick
	for k := math.Ceil(low/step - 1e-9); k*step <= high+step*1e-9; k++ {
		v := k * step
		if v == 0 {
			v = 0 // no minus sign
		}
		marks = append(marks, plot.Tick{Value: v, Label: t.name(v)})
	}
	return marks
}

// roundStep is the smallest of 1, 2, 2.5 and 5 times a power of ten that is
// not below least.
func roundStep(least float64) float64 {
	if !(least > 0) || math.IsInf(least, 0) {
		return 1
	}
	decade := math.Pow(10, math.Floor(math.Log10(least)))
	for _, step := range []float64{1, 2, 2.5, 5} {
		if step*decade >= least*(1-1e-9) {
			return step * decade
		}
	}
	return 10 * decade
}

// roundTop is the lowest tick of about n from zero that leaves some room
// above high.
func roundTop(high float64, n int) float64 {
	if !(high > 0) {
		return 1
	}
	step := roundStep(high * 1.04 / float64(n))
	return step * math.Ceil(high*1.04/step)
}

// shortest writes a tick with as few digits as tell it.
func shortest(v float64) string { return strconv.FormatFloat(rounded(v), 'f', -1, 64) }

// shortCount is shortest with a letter for thousands, millions, and so on.
func shortCount(v float64) string {
	for _, unit := range []struct {
		size   float64
		letter string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= unit.size*(1-1e-9) {
			return shortest(v/unit.size) + unit.letter
		}
	}
	return shortest(v)
}

// rounded drops the digits that floating-point arithmetic left behind.
func rounded(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64)
	if err != nil {
		return v
	}
	return short
}

// logTicks label 1, 2 and 5 times every power of ten on a logarithmic axis; over
// more than three decades, the powers alone.
type logTicks struct{ name func(float64) string }

// Ticks returns the ticks within [low, high].
func (t logTicks) Ticks(low, high float64) []plot.Tick {
	long := high/low > 1000.1
	var marks []plot.Tick
	for decade := math.Pow(10, math.Floor(math.Log10(low))); decade <= high*(1+1e-9); decade *= 10 {
		for digit := 1.0; digit <= 9; digit++ {
			v := digit * decade
			if v < low*(1-1e-9) || v > high*(1+1e-9) {
				continue
			}
			mark := plot.Tick{Value: v}
			if digit == 1 || !long && (digit == 2 || digit == 5) {
				mark.Label = t.name(v)
			}
			marks = append(marks, mark)
		}
	}
	return marks
}
