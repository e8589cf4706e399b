package figure

import (
	"math"

	"gonum.org/v1/plot"
)

// Ticks are gonum's ticks of a linear axis, each labelled by the function.
type Ticks func(float64) string

// Ticks returns the ticks within [low, high].
func (name Ticks) Ticks(low, high float64) []plot.Tick {
	marks := plot.DefaultTicks{}.Ticks(low, high)
	for i, mark := range marks {
		if mark.Label != "" {
			marks[i].Label = name(mark.Value + 0) // not "-0"
		}
	}
	return marks
}

// LogTicks are gonum's ticks of a logarithmic axis. The function labels 1, 2 and 5
// times every power of ten or, over more than three decades, the powers alone.
type LogTicks func(float64) string

// Ticks returns the ticks within [low, high].
func (name LogTicks) Ticks(low, high float64) []plot.Tick {
	marks := plot.LogTicks{}.Ticks(low/10, high) // gonum's would begin too high below 1
	for i, mark := range marks {
		digit := math.Round(mark.Value / math.Pow(10, math.Floor(math.Log10(mark.Value*(1+1e-9)))))
		if mark.Label != "" || high/low < 1000.1 && (digit == 2 || digit == 5) {
			marks[i].Label = name(mark.Value)
		}
	}
	return marks
}

// Top is the upper end of an axis from zero, with some room above high.
func Top(high float64) float64 {
	if high > 0 {
		return 1.06 * high
	}
	return 1
}

// LogRange is the range of a logarithmic axis around [low, high]: from and to 1, 2
// or 5 times a power of ten, with room for labels at the curves.
func LogRange(low, high float64) (float64, float64) {
	return roundDown(low / 1.1), 1 / roundDown(1/(high*1.25))
}

// roundDown is the largest 1, 2 or 5 times a power of ten not above v.
func roundDown(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	switch digit := v / decade * (1 + 1e-9); {
	case digit >= 5:
		return 5 * decade
	case digit >= 2:
		return 2 * decade
	}
	return decade
}
