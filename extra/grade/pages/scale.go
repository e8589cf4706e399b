package pages

import (
	"fmt"
	"math"
)

// scale is the logarithmic scale of the ratios, which all rows share.
type scale struct{ low, high float64 }

// scaleOf has room for the intervals of all rows, and for the reference.
func scaleOf(rows []row) scale {
	s := scale{1 / 1.05, 1.05}
	for _, r := range rows {
		if r.Measured() && r.Ratio > 0 {
			s.low, s.high = min(s.low, r.Ratio), max(s.high, r.Ratio, r.RatioHigh)
			if r.RatioLow > 0 {
				s.low = min(s.low, r.RatioLow)
			}
		}
	}
	return s
}

// At returns the place of a ratio, in per cent of the width.
func (s scale) At(ratio float64) string {
	const room = 4 // at each end
	return fmt.Sprintf("%.2f%%", room+(100-2*room)*math.Log(ratio/s.low)/math.Log(s.high/s.low))
}

// Ticks returns the ratios that have a mark: at most some six round ones.
func (s scale) Ticks() (marks []float64) {
	for _, step := range []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5} {
		if s.high-s.low <= 6*step && s.high < 3*s.low {
			for i := math.Ceil(s.low / step); i*step <= s.high; i++ {
				marks = append(marks, i*step)
			}
			return marks
		}
	}
	digits := []float64{1, 2, 5}
	if s.high > 50*s.low {
		digits = digits[:1]
	}
	for decade := math.Pow(10, math.Floor(math.Log10(s.low))); decade <= s.high; decade *= 10 {
		for _, digit := range digits {
			if v := digit * decade; v >= s.low && v <= s.high {
				marks = append(marks, v)
			}
		}
	}
	return marks
}
