// Package format writes numbers and words for people: 12.4M, 3 servers, 1.23ms.
package format

import (
	"math"
	"strconv"
)

// Count writes a number the way a person does: to three significant digits, with
// k, M, G, T, P or E for the powers of a thousand and without zeros that say
// nothing. Count(12.4e6) is "12.4M", Count(1000) "1k", Count(0.25) "0.25".
func Count(n float64) string {
	const digits, units = 3, "kMGTPE"
	round := func(f float64) string { return strconv.FormatFloat(f, 'g', digits, 64) }
	// Rounded first, because 999,999 is 1M and not 1000k. Text that FormatFloat
	// made always parses.
	n, _ = strconv.ParseFloat(round(n), 64)
	unit := ""
	for i := 0; i < len(units) && math.Abs(n) >= 1000 && !math.IsInf(n, 0); i++ {
		n /= 1000
		unit = units[i : i+1]
	}
	return round(n) + unit
}

// Bytes writes a number of bytes in MB or GB.
func Bytes(n uint64) string {
	if n < 1e9 {
		return strconv.FormatFloat(float64(n)/1e6, 'f', 0, 64) + " MB"
	}
	return strconv.FormatFloat(float64(n)/1e9, 'f', 1, 64) + " GB"
}
