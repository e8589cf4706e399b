package loadgen

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
)

// prefixes are digests of the first 1, 2, 4, ... operations of every worker, one
// for all workers, as far as all have drawn so many: two clients that share number
// k have the same first 2^k operations of each worker. Each is the FNV-1a hash of
// the workers' own digests, in worker order.
func (g *Generator) prefixes() []string {
	shortest := math.MaxInt
	for _, w := range g.workers {
		shortest = min(shortest, len(w.source.Prefixes()))
	}
	digests := make([]string, shortest)
	for k := range digests {
		all := fnv.New64a()
		for _, w := range g.workers {
			_ = binary.Write(all, binary.LittleEndian, w.source.Prefixes()[k]) // a hash takes all
		}
		digests[k] = fmt.Sprintf("%016x", all.Sum64())
	}
	return digests
}
