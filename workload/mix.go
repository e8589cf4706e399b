package workload

import "math"

// mix is how often operations read, and what the others do.
type mix struct {
	reads     float64 // share of reads, 0 to 1
	write     Kind    // every other operation
	threshold uint64  // reads in 2^-32; 2^32 itself, for reads only, is no uint32
}

// newMix returns the mix of a valid configuration.
func newMix(c Config) mix {
	m := mix{reads: c.Reads, write: Update}
	switch c.Workload {
	case YCSBA:
		m.reads = 0.5
	case YCSBB:
		m.reads = 0.95
	case YCSBC:
		m.reads = 1
	case YCSBF:
		m.reads, m.write = 0.5, ReadModifyWrite
	}
	m.threshold = uint64(math.Round(math.Ldexp(m.reads, 32)))
	return m
}

// kind returns the kind that a random word stands for, by its upper 32 bits. It
// masks the write to 0, the number of Read: no branch, because no processor could
// predict it.
func (m mix) kind(word uint64) Kind {
	return m.write &^ Kind(below(word>>32, m.threshold))
}

// below returns a mask of ones if a is below b, and else 0, for numbers below 2^63.
func below(a, b uint64) uint64 { return uint64(int64(a-b) >> 63) }

// share returns the share of operations of kind k.
func (m mix) share(k Kind) float64 {
	switch k {
	case Read:
		return m.reads
	case m.write:
		return 1 - m.reads
	}
	return 0
}
