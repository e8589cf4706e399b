package plots

import (
	"math"
	"strconv"

	"kvlab/metrics/format"
)

// The units of the figures and tables.
const (
	gibibyte    = 1 << 30
	mega        = 1e6
	giga        = 1e9
	bitsPerByte = 8
	microsPerMs = 1000
)

// milliseconds writes a latency given in microseconds, with three digits or
// all those before the point.
func milliseconds(micros float64) string {
	if ms := micros / microsPerMs; ms >= 999.5 {
		return strconv.FormatFloat(ms, 'f', 0, 64)
	}
	return format.Count(micros / microsPerMs)
}

// tenths writes v to one digit after the point, and no zero there.
func tenths(v float64) string { return shortest(math.Round(v*10) / 10) }

// shortest writes v with as few digits as tell it.
func shortest(v float64) string { return strconv.FormatFloat(rounded(v), 'f', -1, 64) }

// rounded drops the digits that floating-point arithmetic left behind.
func rounded(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64)
	if err != nil {
		return v
	}
	return short
}
