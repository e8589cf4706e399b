package loadgen

import (
	"math"
	"time"
)

// largestBatch is the largest batch of -batch auto.
const largestBatch = 1 << 16

// autoBatch adapts the batch size to a latency target after each round:
//
//	latency over the target        the batch shrinks by a quarter
//	latency up to the target       it grows by an eighth of its square root
//	latency below an eighth of it  it grows by an eighth
//
// In equilibrium about one round in 2*sqrt(batch) is over the target: the target
// applies to the tail, not to the mean. Growth below proportional equalizes the batches
// of workers that share a server (D. Bansal and H. Balakrishnan, Binomial congestion
// control algorithms, INFOCOM 2001). With proportional growth, the worker with the
// largest batch keeps most of the server. The size keeps fractions of an operation, so
// that small batches change in small steps.
type autoBatch struct {
	target time.Duration // of a call, from send to reply
	most   int           // operations in a batch
}

// newAutoBatch returns the autoBatch of a configuration.
func newAutoBatch(c Config) autoBatch {
	return autoBatch{target: c.TargetLatency, most: min(largestBatch, c.most())}
}

// next returns the mean batch of the next rounds, from 1 to most, given the last
// round's batch and the latency of its slowest call.
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
