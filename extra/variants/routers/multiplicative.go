package routers

import (
	"math/bits"

	"kvlab/kvs/route"
)

// goldenSection is 2^64 * 0.618...
const goldenSection = 0x9e3779b97f4a7c15

// multiplicativeRouter is Fibonacci hashing: the fractional part of the hash times the
// golden section, times the number of servers (Knuth, The Art of Computer Programming 3,
// section 6.4). It divides nothing.
type multiplicativeRouter uint64

func newMultiplicative(servers int, _ route.Popularity) (route.Router, error) {
	return multiplicativeRouter(servers), nil
}

func (n multiplicativeRouter) Server(_ []byte, hash uint64) int {
	server, _ := bits.Mul64(hash*goldenSection, uint64(n))
	return int(server)
}

// Owners sets owners[i] to the Server of the key with hashes[i].
func (n multiplicativeRouter) Owners(owners []uint32, hashes []uint64) {
	for i, hash := range hashes[:len(owners)] {
		owners[i] = uint32(n.Server(nil, hash))
	}
}
