// Package adapt finds the size of batches that meet a target of latency.
package adapt

import (
	"math"
	"time"
)

// Largest is the largest batch of -batch auto.
const Largest = 1 << 16

// Size is the size of a worker's next rounds. -batch auto adapts it after each
// round:
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
type Size struct {
	Target  time.Duration // of a call, from send to reply; 0 for a constant size
	Most    int           // operations in a batch
	Servers int
	Mean    float64 // operations in a batch
}

// Ops returns the number of operations in a round.
func (b *Size) Ops() int { return int(b.Mean) * b.Servers }

// Learn adapts the size, given the latency of a full round's slowest call.
func (b *Size) Learn(latency time.Duration) {
	size := b.Mean
	switch {
	case b.Target == 0:
		return
	case latency > b.Target:
		size -= size / 4
	case latency < b.Target/8:
		size += size / 8
	default:
		size += math.Sqrt(size) / 8
	}
	b.Mean = min(max(size, 1), float64(b.Most))
}
