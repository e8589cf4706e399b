package cli

import (
	"math"
	"strconv"
	"strings"
)

// ParseCount reads a number above 0, which may end in k, M or G.
func ParseCount(text string) (n float64, ok bool) {
	digits, unit := text, 1.0
	for suffix, times := range map[string]float64{"k": 1e3, "M": 1e6, "G": 1e9} {
		if before, found := strings.CutSuffix(text, suffix); found {
			digits, unit = before, times
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	return n * unit, err == nil && n > 0 && !math.IsInf(n, 1)
}
