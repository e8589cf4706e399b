package loadgen

import (
	"math"
	"time"
)

// largestBatch is what -batch auto grows to at most.
const largestBatch = 1 << 16

// autoBatch adapts a batch to a latency target, by what every round shows:
//
//	latency over the target        the batch shrinks by a quarter
//	latency up to the target       it grows by an eighth of its square root
//	latency below an eighth of it  it grows by an eighth
//
// Its equilibrium has about one round in 2*sqrt(batch) over the target: the target
// is for the tail, not for the mean. Growth that is less than proportional makes the
// batches of workers that share a server equal (D. Bansal and H. Balakrishnan,
// Binomial congestion control algorithms, INFOCOM 2001); with proportional growth,
// the worker that is ahead keeps most of the server. Fractions of an operation are
// kept, so that small batches change in small steps.
type autoBatch struct {
	target time.Duration // of a call, from send to reply
	most   int           // operations in a batch
}

// newAutoBatch returns the autoBatch of a configuration.
func newAutoBatch(c Config) autoBatch {
	return autoBatch{target: c.TargetLatency, most: min(largestBatch, c.most())}
}

// next returns the mean batch of the next rounds, from 1 to most, given that of the
// last round and the latency of its slowest call.
func (b autoBatch) next(size float64, latency time.Duration) float64 {
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
