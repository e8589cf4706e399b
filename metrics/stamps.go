package metrics

import (
	"math/bits"
	"slices"
	"time"
)

// Octaves is how many octaves a latency may be in.
const Octaves = 33

// MaxLatency is the longest latency that a histogram can hold.
const MaxLatency = time.Hour

// Octave returns the octave of a latency as the histograms hold it, in microseconds rounded
// up: number k has those of 2^(k-1) to 2^k - 1, and number 0 what no histogram can hold.
// The edges are edges of an HdrHistogram's slots too, so its counts by octave are exact.
func Octave(d time.Duration) int {
	if d <= 0 || d > MaxLatency {
		return 0
	}
	return bits.Len64(uint64(d+time.Microsecond-1) / uint64(time.Microsecond))
}

// Stamps are what a client's workers sum up beside a histogram: of the same calls or
// operations, from their own stamps of time and not from what the histogram gets.
type Stamps struct {
	SumS      float64  `json:"sum_s"`      // of the latencies
	SquaresS2 float64  `json:"squares_s2"` // of their squares
	LongestS  float64  `json:"longest_s"`
	Octaves   []uint64 `json:"octaves"` // their numbers, see Octave; without zeros at the end
}

// TrimOctaves returns the numbers of values by octave without zeros at the end.
func TrimOctaves(all [Octaves]uint64) []uint64 {
	n := len(all)
	for n > 0 && all[n-1] == 0 {
		n--
	}
	return slices.Clone(all[:n])
}
