package workload

// Seeds form a tree with the run's seed as its root. The key branch seeds the map from
// ranks to record ids, which is the same on every node. The stream branch seeds the
// operations, and the arrival branch the times at which they are due, so the rate
// changes no operation. Both have a child for each node, which has a child for each worker.
// Package size draws the records' sizes from the size branch.
//
//	run seed ---- stream branch ---- node 0 ---- worker 0
//	         |                  |           |--- worker 1
//	         |                  |           ...
//	         |                  |--- node 1 ---- worker 0
//	         |                  ...
//	         |--- key branch ---- offset of the scrambled ids
//	         |--- arrival branch ---- as the stream branch
//	         |--- size branch ---- sizes of values, sizes of keys
const (
	streamBranch  = 0
	keyBranch     = 1
	arrivalBranch = 2
	SizeBranch    = 3 // for package size
)

// Child returns the seed of a seed's i-th child. For one parent it is a bijection of i,
// so no two children share a seed.
func Child(seed, i uint64) uint64 { return mix64(mix64(seed) + i) }

// leaf returns the seeds of a node and of a worker in a branch, the initial state of the
// worker's generator. It differs between workers of a node, and between nodes.
func leaf(seed, branch uint64, node, worker int) (nodeSeed, workerSeed uint64) {
	nodeSeed = Child(Child(seed, branch), uint64(node))
	return nodeSeed, Child(nodeSeed, uint64(worker))
}

// mix64 returns one step of SplitMix64, a bijection in which every bit of x affects the
// whole result (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
// Generators", OOPSLA 2014; constants of D. Stafford's variant 13).
func mix64(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
