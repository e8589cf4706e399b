package route

const (
	// Groups is the number of groups of keys.
	Groups = 64
	// Cells is the number of cells, a power of two: enough that a popular key is nearly
	// alone in its cell, few enough that a sample's counters (128 KiB) stay in the
	// second-level cache.
	Cells    = 1 << cellBits
	cellBits = 14
)

// Group returns the group of the keys with a Hash, from 0 to Groups-1.
func Group(hash uint64) int { return Cell(hash) / (Cells / Groups) }

// Cell returns their cell, from 0 to Cells-1, by Fibonacci hashing: FNV's highest bits
// depend little on the last bytes.
func Cell(hash uint64) int { return int(hash * goldenSection >> (64 - cellBits)) }

// Thin maps a hash to a number whose highest bits are independent of its Cell and its
// server: a key whose highest n bits are 0 is one in 2^n. It is a bijection (the
// finalizer of MurmurHash3, Austin Appleby, public domain).
func Thin(hash uint64) uint64 {
	hash ^= hash >> 33
	hash *= 0xff51afd7ed558ccd
	hash ^= hash >> 33
	hash *= 0xc4ceb9fe1a85ec53
	return hash ^ hash>>33
}
