package plots

import (
	"fmt"
	"math"
	"strconv"
)

// The units of the figures.
const (
	gibibyte    = 1 << 30
	giga        = 1e9
	bitsPerByte = 8
	microsPerMs = 1000
)

// count writes a number the way a person would: 12.4M.
func count(v float64) string {
	for _, unit := range []struct {
		size   float64
		letter string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= unit.size*0.9995 {
			return threeDigits(v/unit.size) + unit.letter
		}
	}
	return threeDigits(v)
}

// threeDigits writes v with three significant digits, and all digits before
// the point.
func threeDigits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v == 0:
		return "0"
	case a >= 0.9995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return fmt.Sprintf("%.3g", v)
}
