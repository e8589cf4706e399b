package latency

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"kvlab/metrics"
)

// The range and precision of every latency histogram: 1 microsecond to 1 hour,
// to three significant digits.
const (
	MaxLatency        = metrics.MaxLatency
	minLatencyMicros  = 1
	maxLatencyMicros  = int64(MaxLatency / time.Microsecond)
	significantDigits = 3
)

// Distribution holds the values of one kind of latency, in microseconds.
// Adding distributions is exact. Percentiles of many workers or nodes come from the sum
// of their distributions and are never averaged. Not safe for concurrent use.
type Distribution struct {
	*hdrhistogram.Histogram        // 1 .. 3.6e9 microseconds
	OutOfRange              uint64 // values that the histogram cannot hold
}

// NewDistribution returns an empty distribution (about 190 kB).
func NewDistribution() *Distribution {
	return &Distribution{Histogram: hdrhistogram.New(minLatencyMicros, maxLatencyMicros, significantDigits)}
}

// record counts n values of micros.
func (d *Distribution) record(micros uint32, n uint32) {
	if micros == outOfRange || d.RecordValues(int64(micros), int64(n)) != nil {
		d.OutOfRange += uint64(n)
	}
}

// octaves returns the number of values in each of metrics.Octave, without zeros at the end.
func (d *Distribution) octaves() []uint64 {
	var all [metrics.Octaves]uint64
	all[0] = d.OutOfRange
	for _, bar := range d.Distribution() {
		all[bits.Len64(uint64(bar.From))] += uint64(bar.Count)
	}
	return metrics.TrimOctaves(all)
}

// Add adds the values of e to d.
func (d *Distribution) Add(e *Distribution) {
	d.OutOfRange += e.OutOfRange + uint64(d.Merge(e.Histogram))
}

// empty reports whether d, which may be nil, has no value.
func (d *Distribution) empty() bool { return d == nil || d.TotalCount() == 0 && d.OutOfRange == 0 }

// reset empties d.
func (d *Distribution) reset() {
	d.Histogram.Reset()
	d.OutOfRange = 0
}

// Decode returns the distribution in a Histogram record. A record of another
// range or precision than this package's is an error, because adding it would
// change its values.
func Decode(h metrics.Histogram) (*Distribution, error) {
	histogram, err := hdrhistogram.Decode([]byte(h.HDR))
	if err != nil {
		return nil, fmt.Errorf("decode the %s histogram at %.3f s: %w", h.Name, h.StartS, err)
	}
	if histogram.LowestTrackableValue() != minLatencyMicros || histogram.HighestTrackableValue() != maxLatencyMicros || histogram.SignificantFigures() != significantDigits {
		return nil, fmt.Errorf("decode the %s histogram at %.3f s: not of %d..%d us to %d digits", h.Name, h.StartS, minLatencyMicros, maxLatencyMicros, significantDigits)
	}
	return &Distribution{Histogram: histogram, OutOfRange: h.OutOfRange}, nil
}
