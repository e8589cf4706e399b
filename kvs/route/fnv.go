package route

import "math/bits"

// fnvRouter takes the key's hash modulo the number of servers.
type fnvRouter uint64

func newFNV(servers int, _ Popularity) (Router, error) { return fnvRouter(servers), nil }

func (n fnvRouter) Server(_ []byte, hash uint64) int {
	return int(hash % uint64(n))
}

// Owners sets owners[i] to the Server of the key with hashes[i]. In place of dividing it
// multiplies with the rounded-down reciprocal; the quotient is then at most one too small.
func (n fnvRouter) Owners(owners []uint32, hashes []uint64) {
	reciprocal := ^uint64(0) / uint64(n)
	for i, hash := range hashes[:len(owners)] {
		quotient, _ := bits.Mul64(hash, reciprocal)
		rest := hash - quotient*uint64(n) // below 2n
		less, below := bits.Sub64(rest, uint64(n), 0)
		owners[i] = uint32(less + uint64(n)&-below)
	}
}
