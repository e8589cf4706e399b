package loadgen

import (
	"math"
	"time"
)

// largestBatch is the largest batch of -batch auto.
const largestBatch = 1 << 16

// batchSize is the size of a worker's next rounds. -batch auto adapts it after each
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
type batchSize struct {
	target  time.Duration // of a call, from send to reply; 0 for a constant size
	most    int           // operations in a batch
	servers int
	mean    float64 // operations in a batch
}

func newBatchSize(c Config) batchSize {
	if !c.AutoBatch {
		return batchSize{servers: c.Servers(), mean: float64(c.Batch)}
	}
	return batchSize{target: c.TargetLatency, most: min(largestBatch, c.most()), servers: c.Servers(), mean: 1}
}

// ops returns the number of operations in a round.
func (b *batchSize) ops() int { return int(b.mean) * b.servers }

// learn adapts the size, given the latency of a full round's slowest call.
func (b *batchSize) learn(latency time.Duration) {
	size := b.mean
	switch {
	case b.target == 0:
		return
	case latency > b.target:
		size -= size / 4
	case latency < b.target/8:
		size += size / 8
	default:
		size += math.Sqrt(size) / 8
	}
	b.mean = min(max(size, 1), float64(b.most))
}

// room returns how many operations may join a round before one of its batches may reach
// -batch-bytes, in its request or in the values of its reply; 0 when a batch has reached it.
// The last operation may exceed the limit.
func (w *worker) room(r *round) int {
	if w.batchBytes == 0 {
		return drawn
	}
	most := 0
	for i := range r.exchanges {
		x := &r.exchanges[i]
		if len(x.kinds) == 0 {
			x.sized, x.values = 0, 0
		}
		for ; x.sized < len(x.kinds); x.sized++ {
			if returnsValue[x.kinds[x.sized]] {
				x.values += w.sizes.At(x.hashes[x.sized])
			}
		}
		most = max(most, x.values, x.batch.Size())
	}
	if most >= w.batchBytes {
		return 0
	}
	return max(1, (w.batchBytes-most)/w.mostPerOp)
}
