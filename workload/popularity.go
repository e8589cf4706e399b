package workload

import "iter"

// Segment is a stretch of neighbouring popularity ranks whose records are about
// equally popular.
type Segment struct {
	First, Width uint64 // the ranks First, ..., First+Width-1
	Weight       uint64 // the share of all operations that they get together, in 2^-48
}

// Segments returns all ranks in segments, the most popular first. Inside a
// segment the popularity of a record falls by theta/512 of itself at most, or
// not at all. The weights are those that the sampler draws by: whole numbers, so
// that what is computed from them depends on no machine's rounding.
func (p *Plan) Segments() iter.Seq[Segment] {
	return func(yield func(Segment) bool) {
		cuts := p.law.cuts()
		for i, from := range cuts[:len(cuts)-1] {
			to := cuts[i+1]
			if !yield(Segment{from, to - from, weight(p.law.mass(from, to))}) {
				return
			}
		}
	}
}
