package workload

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"kvlab/internal/cli"
)

// hotspot spreads a share of the operations evenly over the first ranks, and the rest
// evenly over the others.
type hotspot struct {
	n, hot uint64  // the number of ranks, and of hot ranks
	ops    float64 // the share of the operations on hot ranks
}

func hotspotFlags(c Config) string {
	return fmt.Sprintf(" -hot-ops %g -hot-keys %g", c.HotOps, c.HotKeys)
}

// newHotspot rounds the number of hot records to a whole number, at least one. If all
// records are hot, all operations are on hot records.
func newHotspot(c Config) (distribution, error) {
	if err := cmp.Or(
		cli.Want(isShare(c.HotOps), "-hot-ops", c.HotOps, "a share of the operations from 0 to 1, such as 0.8"),
		cli.Want(isShare(c.HotKeys) && c.HotKeys > 0, "-hot-keys", c.HotKeys, "a share of the records above 0, up to 1, such as 0.2"),
	); err != nil {
		return nil, err
	}
	hot := hotRecords(c)
	if hot == c.Records {
		return flat{c.Records}, nil
	}
	return hotspot{c.Records, hot, c.HotOps}, nil
}

// hotRecords returns the number of hot records.
func hotRecords(c Config) uint64 { return max(1, uint64(math.Round(c.HotKeys*float64(c.Records)))) }

func (h hotspot) mass(from, to uint64) float64 {
	m := 0.0
	if from < h.hot {
		m += h.ops * float64(min(to, h.hot)-from) / float64(h.hot)
	}
	if to > h.hot {
		m += (1 - h.ops) * float64(to-max(from, h.hot)) / float64(h.n-h.hot)
	}
	return m
}

func (h hotspot) cuts() []uint64 { return []uint64{0, h.hot, h.n} }

// moving is how the hot set moves: after every so many operations of all workers the rank of
// every record shifts by the size of the hot set. A worker counts its own operations, so its
// stream depends on no other's: of W workers, it has moved k*W/every times, rounded down, before
// its operation k, from 0.
type moving struct {
	every  uint64 // operations of all workers from one move to the next; 0 without moves
	size   uint64 // the number of hot records
	places uint64 // after this many moves, the first hot set is hot again
}

const (
	// leastMove is the least -hot-move: then the moves of 10^9 operations are few to go through.
	leastMove = 1000
	// mostPieces bounds the segments of the law at all places, which take a second to sort.
	mostPieces = 1 << 20
)

// newMoving returns the moves of a configuration, whose law has so many segments.
func newMoving(c Config, l law, segments int) (moving, error) {
	if c.HotMove == 0 {
		return moving{}, nil
	}
	least := float64(segments) / mostPieces
	if err := cmp.Or(
		cli.Want(l.still == "", "-hot-move", c.HotMove, "it with -distribution %s or %s: %s", Hotspot, Zipfian, l.still),
		cli.Want(c.HotMove >= leastMove, "-hot-move", c.HotMove, "at least %d operations of all clients", leastMove),
		cli.Want(c.HotKeys >= least && c.HotKeys <= 0.5, "-hot-keys", c.HotKeys, "a share of %.2g to 0.5 with -hot-move: the hot set, which moves by its size", least),
	); err != nil {
		return moving{}, err
	}
	size := hotRecords(c)
	return moving{c.HotMove, size, (c.Records + size - 1) / size}, nil
}

// first returns the number of the first operation that a worker does after a number of moves.
func (m moving) first(moves, workers uint64) uint64 { return (moves*m.every + workers - 1) / workers }

// Moves reports whether the hot set moves.
func (p *Plan) Moves() bool { return p.moving.every > 0 }

// moved returns the map from ranks to ids after a number of moves.
func (p *Plan) moved(moves uint64) affine {
	keys := p.keys
	keys.add = keys.at(moves % p.moving.places * p.moving.size)
	return keys
}

// fillMoving sets ops as fillRandom does, and moves the hot set between two of them.
func (s *Source) fillMoving(ops []Op) {
	m, workers := s.plan.moving, uint64(s.place.Nodes)*uint64(s.place.Workers)
	for at := s.drawn; len(ops) > 0; {
		moves := at * workers / m.every
		n := min(uint64(len(ops)), m.first(moves+1, workers)-at)
		s.ids = s.plan.moved(moves)
		s.fillRandom(ops[:n])
		at, ops = at+n, ops[n:]
	}
}

// Places returns how many operations all workers draw at each place of the hot set, from the
// first, given how many each of them draws; nil if it does not move, or no worker draws any.
func (p *Plan) Places(drawn []uint64) (ops []float64) {
	if !p.Moves() || len(drawn) == 0 || slices.Max(drawn) == 0 {
		return nil
	}
	ops = make([]float64, p.moving.places)
	left, workers, from := slices.Sorted(slices.Values(drawn)), uint64(len(drawn)), uint64(0)
	for k := uint64(0); len(left) > 0; k++ {
		to, place := p.moving.first(k+1, workers), &ops[k%p.moving.places]
		for len(left) > 0 && left[0] < to { // these move no more
			*place += float64(left[0] - from)
			left = left[1:]
		}
		*place += float64(len(left)) * float64(to-from)
		from = to
	}
	return ops
}

// PopularAt yields records as Popular does, by their mean shares of operations of which so many
// are drawn at each place, see Places. Popular itself gives all places the same number.
func (p *Plan) PopularAt(places []float64) iter.Seq2[uint64, uint64] {
	return func(yield func(id, share uint64) bool) {
		known := 0
		for _, piece := range p.pieces(places) {
			for rank := piece.from; rank < piece.to; rank++ {
				if known++; known > KnownRanks || !yield(p.keys.at(rank), coarse(uint64(piece.share))) {
					return
				}
			}
		}
	}
}

// piece is a range of records, by their ranks before the first move, that have one mean share.
type piece struct {
	from, to uint64
	share    float64 // in 2^-48
}

// pieces returns the pieces of all records, the most popular first. Sums of as many 48-bit
// shares are exact in a float64, or off by 2^-53 of a sum.
func (p *Plan) pieces(places []float64) (all []piece) {
	type edge struct {
		at     uint64
		change float64
	}
	var edges []edge
	total, n, cuts := 0.0, p.config.Records, p.distribution.cuts()
	for _, ops := range places {
		total += ops
	}
	for i, from := range cuts[:len(cuts)-1] {
		share := float64(p.popularity(p.distribution.mass(from, cuts[i+1]), cuts[i+1]-from))
		for place, ops := range places {
			if ops == 0 {
				continue
			}
			change, shift := share*(ops/total), uint64(place)*p.moving.size
			first, end := (from+shift)%n, (cuts[i+1]-1+shift)%n+1
			edges = append(edges, edge{first, change}, edge{end, -change})
			if first >= end { // round the last record
				edges = append(edges, edge{0, change}, edge{n, -change})
			}
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	share := 0.0
	for i, e := range edges[:len(edges)-1] {
		if share += e.change; e.at < edges[i+1].at {
			all = append(all, piece{e.at, edges[i+1].at, math.Max(0, share)})
		}
	}
	slices.SortStableFunc(all, func(a, b piece) int { return cmp.Compare(b.share, a.share) })
	return all
}
