package route

const (
	// Groups is how many groups Group sorts keys into.
	Groups = 64
	// Cells is how many cells Cell sorts them into, a power of two: so many
	// that a popular key is nearly alone in its own, and all of a sample's counters
	// (128 KiB) stay in the second-level cache.
	Cells    = 1 << cellBits
	cellBits = 14
)

// Group is the group of the keys with a Hash, from 0 to Groups-1.
func Group(hash uint64) int { return Cell(hash) / (Cells / Groups) }

// Cell is their cell, from 0 to Cells-1: Fibonacci hashing, because FNV's
// highest bits know little of the last bytes.
func Cell(hash uint64) int { return int(hash * goldenSection >> (64 - cellBits)) }
