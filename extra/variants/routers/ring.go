package routers

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"kvlab/kvs/route"
)

const (
	// ringPoints is the number of a server's points. The standard deviation of a server's
	// share is 1/32 of its mean.
	ringPoints = 1 << 10
	// maxRing is the maximum of servers: some 13 MiB of points.
	maxRing = 1 << 10
)

// ringRouter is consistent hashing with virtual nodes (David Karger and others,
// "Consistent Hashing and Random Trees", STOC 1997). Each server has points on a ring of
// 2^64 places, and a key belongs to the server of the first point from the key's place
// on. If one server joins n others, it gets about 1/(n+1) of the keys, and no other key
// moves.
type ringRouter struct {
	points []uint64 // in ascending order; the last is a sentinel that stands for the first
	owners []uint16 // of the points
	first  []uint32 // the first point at or behind a place with these highest bits
	shift  int      // of a place, to its index in first
}

func newRing(servers int, _ route.Popularity) (route.Router, error) {
	if servers > maxRing {
		return nil, fmt.Errorf("-router ring: %d servers; at most %d", servers, maxRing)
	}
	type point struct {
		place uint64
		owner uint16
	}
	points := make([]point, servers*ringPoints)
	for i := range points {
		points[i] = point{route.Thin(uint64(i)), uint16(i / ringPoints)}
	}
	slices.SortFunc(points, func(p, q point) int { return cmp.Compare(p.place, q.place) }) // route.Thin is a bijection: no two are equal
	points = append(points, point{math.MaxUint64, points[0].owner})
	size := bits.Len(uint(len(points)))
	r := &ringRouter{first: make([]uint32, 1<<size), shift: 64 - size}
	for _, p := range points {
		r.points, r.owners = append(r.points, p.place), append(r.owners, p.owner)
	}
	for i, at := 0, uint32(0); i < len(r.first); i++ {
		for r.points[at] < uint64(i)<<r.shift {
			at++
		}
		r.first[i] = at
	}
	return r, nil
}

// Server reads one index, and on average one or two points.
func (r *ringRouter) Server(_ []byte, hash uint64) int {
	place := hash * lcgFactor
	at := r.first[place>>r.shift]
	for r.points[at] < place {
		at++
	}
	return int(r.owners[at])
}
