package workload

import "math/rand/v2"

// Seeds form a tree. The run's seed is the root; below it, one branch seeds the
// map from ranks to record ids, the same on every node, and the others have a
// child for each node, which has a child for each worker: one for the operations,
// one for the moments at which they are due, so that the rate changes no operation.
//
//	run seed ---- stream branch ---- node 0 ---- worker 0
//	         |                  |           |--- worker 1
//	         |                  |           ...
//	         |                  |--- node 1 ---- worker 0
//	         |                  ...
//	         |--- key branch ---- offset of the scrambled ids
//	         |--- arrival branch ---- as the stream branch
const (
	streamBranch  = 0
	keyBranch     = 1
	arrivalBranch = 2
)

// child returns the seed of a seed's i-th child. For one parent it is a
// bijection of i: children never share a seed.
func child(seed, i uint64) uint64 { return mix64(mix64(seed) + i) }

// newRandom returns a worker's generator. Its 128 bits of state start as the
// seeds of the node and of the worker, so no two workers of a node, and no two
// nodes, start alike.
func newRandom(seed uint64, node, worker int) pcg {
	hi, lo := leaf(child(seed, streamBranch), node, worker)
	return pcg{hi, lo}
}

// newArrivalRandom is the same for the moments at which operations are due.
func newArrivalRandom(seed uint64, node, worker int) rand.PCG {
	return *rand.NewPCG(leaf(child(seed, arrivalBranch), node, worker))
}

func leaf(branch uint64, node, worker int) (nodeSeed, workerSeed uint64) {
	nodeSeed = child(branch, uint64(node))
	return nodeSeed, child(nodeSeed, uint64(worker))
}

// mix64 is one step of SplitMix64, a bijection that spreads every bit of x over
// the result (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
// Generators", OOPSLA 2014; constants of D. Stafford's variant 13).
func mix64(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
