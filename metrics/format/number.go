package format

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Milliseconds writes a latency given in microseconds, with three digits or all
// those before the point.
func Milliseconds(micros float64) string {
	const microsPerMs = 1000
	if ms := micros / microsPerMs; ms >= 999.5 {
		return strconv.FormatFloat(ms, 'f', 0, 64)
	}
	return Count(micros / microsPerMs)
}

// Tenths writes v to one digit after the point, and no zero there.
func Tenths(v float64) string { return Shortest(math.Round(v*10) / 10) }

// Shortest writes v with as few digits as tell it, without the digits that
// floating-point arithmetic left behind.
func Shortest(v float64) string {
	if short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64); err == nil {
		v = short
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// Label makes text from elsewhere safe to print: one line of printable characters,
// at most size of them.
func Label(text string, size int) string {
	clean := strings.Map(func(c rune) rune {
		if c == unicode.ReplacementChar || !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, text)
	runes := []rune(clean)
	if len(runes) <= size {
		return clean
	}
	return string(runes[:size-1]) + "…"
}
