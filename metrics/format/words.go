package format

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Plural is a number of things: "1 server", "2 servers".
func Plural[N int | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// NonEmpty returns the words that are not empty.
func NonEmpty(words ...string) []string {
	return slices.DeleteFunc(words, func(word string) bool { return word == "" })
}

// OneLine joins a text's lines.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Latency writes microseconds as a duration of three significant digits: "1.23ms".
func Latency(micros float64) string {
	d := time.Duration(micros * float64(time.Microsecond))
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

// BitRate writes a rate in the unit that keeps it short: "1 Gb/s", "2.5 Mb/s".
func BitRate(bitsPerS uint64) string {
	if bitsPerS >= 1e9 {
		return fmt.Sprintf("%g Gb/s", float64(bitsPerS)/1e9)
	}
	return fmt.Sprintf("%g Mb/s", float64(bitsPerS)/1e6)
}

// LastLine returns the last line of a text that is not blank.
func LastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
