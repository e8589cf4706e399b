package loadgen

import (
	"math"
	"time"
)

// largestBatch is what -batch auto grows to at most.
const largestBatch = 1 << 16

// batching adapts a batch to a latency target, by what every round shows:
//
//	latency over the target        the batch shrinks by a quarter
//	latency up to the target       it grows by an eighth of its square root
//	latency below an eighth of it  it grows by an eighth
//
// It rests where growing and shrinking cancel out, with about one round in
// 2*sqrt(batch) over the target: the target is one for the tail, not for the
// mean. Growth that is less than proportional is what makes workers that share a
// server come to equal batches (D. Bansal and H. Balakrishnan, Binomial congestion
// control algorithms, INFOCOM 2001); proportional growth leaves most of
// the server to whoever was ahead. Fractions of an operation are kept, or small
// batches would only know large steps.
type batching struct {
	target time.Duration // of a call, from send to reply
	most   int           // operations in a batch
}

// newBatching returns that of a configuration.
func newBatching(c Config) batching {
	return batching{target: c.TargetLatency, most: min(largestBatch, c.most())}
}

// next returns the mean batch of the rounds to come, from 1 to most, given that
// of the round that came back and the latency of its slowest call.
func (b batching) next(size float64, latency time.Duration) float64 {
	switch {
	case latency > b.target:
		size -= size / 4
	case latency < b.target/8:
		size += size / 8
	default:
		size += math.Sqrt(size) / 8
	}
	return min(max(size, 1), float64(b.most))
}
