package workload

import "math/bits"

// Sample returns popularity ranks of records in rising order, log-uniform down to the last
// one: of the ranks in each of [1, 2), [2, 4), [4, 8), ..., counted from 1, at most each.
// It returns the ranks counted from 0. Where there are more, the secret selects one of
// each of as many equal parts.
func (p *Plan) Sample(secret uint64, each int) (ranks []uint64) {
	n := uint64(each)
	for first := uint64(0); first < p.config.Records; first = 2*first + 1 {
		size := min(first+1, p.config.Records-first)
		for i := range min(n, size) {
			if size <= n {
				ranks = append(ranks, first+i)
				continue
			}
			from, to := size*i/n, size*(i+1)/n
			offset, _ := bits.Mul64(child(secret, first+from), to-from)
			ranks = append(ranks, first+from+offset)
		}
	}
	return ranks
}
