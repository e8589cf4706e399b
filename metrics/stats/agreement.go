package stats

import (
	"math"

	statistics "gonum.org/v1/gonum/stat"
)

// Agree tests whether a result that was measured again, b, is that of a within a margin, which
// is a share: with 0.1, the ratio of the geometric means is from 1/1.1 to 1.1. The two were
// measured at different times or places, so nothing pairs them.
//
// With RatioTrials values or more of each, it is RatioInRange. With fewer of one, its variance
// is taken for that of the other, so the intervals are prediction intervals for the mean of so
// many values (Hahn and Meeker, Statistical Intervals, 1991, section 4.8). With fewer of both,
// ok is false, and only Mean is set. The values must be above 0, and neither sample empty.
func Agree(a, b []float64, margin float64) (t RangeTest, ok bool) {
	end, many := math.Log1p(margin), logs(b)
	if len(a) > len(b) {
		many = logs(a)
	}
	if min(len(a), len(b)) >= RatioTrials || len(many) < RatioTrials {
		return RatioInRange(a, b, -end, end)
	}
	deviation := statistics.StdDev(many, nil)
	return estimate{
		mean:          statistics.Mean(logs(b), nil) - statistics.Mean(logs(a), nil),
		standardError: deviation * math.Sqrt(1/float64(len(a))+1/float64(len(b))),
		freedom:       float64(len(many) - 1),
	}.inRange(len(many), deviation*math.Sqrt2, -end, end)
}
