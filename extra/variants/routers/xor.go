package routers

import "kvlab/kvs/route"

// xorRouter takes a hash by shifts, additions and exclusive ors modulo the number of
// servers (M. V. Ramakrishna and Justin Zobel, "Performance in Practice of String Hashing
// Functions", DASFAA 1997, with their shifts of 5 and 2).
type xorRouter uint64

func newXor(servers int, _ route.Popularity) (route.Router, error) { return xorRouter(servers), nil }

func (n xorRouter) Server(key []byte, _ uint64) int {
	h := uint64(0)
	for _, c := range key {
		h ^= h<<5 + h>>2 + uint64(c)
	}
	return int(h % uint64(n))
}
