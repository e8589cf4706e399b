package plots

import (
	"math"

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
