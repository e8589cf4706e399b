package route

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// Popularity yields the Hash of each key with a known popularity, the most popular
// first, and its share of all operations in units of 1/WholeShare. It yields the same
// sequence every time. Other keys have the rest of WholeShare.
type Popularity = iter.Seq2[uint64, uint64]

// WholeShare is the share of all operations.
const WholeShare = 1 << 48

const (
	slotBits = 13
	slots    = 1 << slotBits // one byte each: a quarter of the first-level cache
	// maxBalanced is the maximum of servers, one byte per slot. Each then owns 32
	// slots, enough for an even distribution.
	maxBalanced = 1 << 8
	// apart is how many of the most popular keys get separate slots.
	apart = 64
	// apartTries is how many factors spread tries. One in five fails.
	apartTries = 64
	// negligible is a share of operations that makes no difference to one server: a
	// thousandth of an even share of 16.
	negligible = WholeShare >> 14
	// goldenSection is 2^64 * 0.618...: its multiples are the most evenly spread
	// (Knuth, The Art of Computer Programming 3, section 6.4).
	goldenSection = 0x9e3779b97f4a7c15
)

// balancedRouter gives each server the same share of the operations, given their
// expected popularity. A key's hash selects a slot, and a table maps slots to servers, as
// in Redis Cluster. The operations on each slot are added up before the run, and the
// slots assigned by that sum.
//
// The table is computed in integers, so all machines compute the same one.
//
// No router can give the busiest server less than the most popular key's share. If that
// exceeds an even share, its server owns little else.
type balancedRouter struct {
	factor uint64
	owners [slots]uint8
}

// Server returns faster than fnv's division: one multiplication and one read.
func (b *balancedRouter) Server(_ []byte, hash uint64) int {
	return int(b.owners[slotOf(hash, b.factor)])
}

// Owners sets owners[i] to the Server of the key with hashes[i].
func (b *balancedRouter) Owners(owners []uint32, hashes []uint64) {
	for i, hash := range hashes[:len(owners)] {
		owners[i] = uint32(b.owners[slotOf(hash, b.factor)])
	}
}

// slotOf returns the highest bits of a product, which depend on all bits of the hash.
// factor is odd.
func slotOf(hash, factor uint64) uint64 { return hash * factor >> (64 - slotBits) }

// portion is the contents of a slot or a server.
type portion struct{ share, keys uint64 }

func (p portion) plus(q portion) portion { return portion{p.share + q.share, p.keys + q.keys} }

func newBalanced(servers int, known Popularity) (Router, error) {
	if servers > maxBalanced {
		return nil, fmt.Errorf("-router balanced: %d servers; at most %d", servers, maxBalanced)
	}
	if known == nil {
		known = func(func(uint64, uint64) bool) {}
	}
	b := &balancedRouter{factor: spread(known)}
	b.assign(weigh(known, b.factor), servers)
	return b, nil
}

// spread returns the first power of the golden section that puts the most popular keys
// into separate slots: two of them in one slot could exceed an even share.
func spread(known Popularity) uint64 {
	var hot []uint64
	for hash := range known {
		if hot = append(hot, hash); len(hot) == apart {
			break
		}
	}
	factor := uint64(goldenSection)
	for range apartTries {
		var taken [slots]bool
		if !slices.ContainsFunc(hot, func(hash uint64) bool {
			at := slotOf(hash, factor)
			was := taken[at]
			taken[at] = true
			return was
		}) {
			break
		}
		factor *= goldenSection
	}
	return factor
}

// weigh returns the contents of each slot. Unknown keys count equally for all slots.
func weigh(known Popularity, factor uint64) []portion {
	table := make([]portion, slots)
	rest := uint64(WholeShare)
	for hash, share := range known {
		share = min(share, rest)
		rest -= share
		s := &table[slotOf(hash, factor)]
		*s = s.plus(portion{share, 1})
	}
	for i := range table {
		table[i].share += rest / slots
	}
	return table
}

// assign assigns each slot, the heaviest first, to the least loaded server (R. L. Graham,
// "Bounds on Multiprocessing Timing Anomalies", SIAM J. Appl. Math. 17(2), 1969). When
// the rest is negligible, it compares the number of keys instead: otherwise a
// distribution with many unused keys would store them all on one server.
func (b *balancedRouter) assign(table []portion, servers int) {
	order := make([]int, slots)
	left := uint64(0)
	for i, slot := range table {
		order[i] = i
		left += slot.share
	}
	slices.SortFunc(order, func(i, j int) int {
		if p, q := table[i].share, table[j].share; p != q {
			return cmp.Compare(q, p)
		}
		return cmp.Compare(i, j)
	})
	held := make([]portion, servers)
	for _, at := range order {
		var owner int
		if left < negligible {
			owner = emptiest(held)
		} else {
			owner = idlest(held)
		}
		b.owners[at] = uint8(owner)
		held[owner] = held[owner].plus(table[at])
		left -= table[at].share
	}
}

// idlest returns the first server with the smallest share, and of these the fewest keys.
func idlest(held []portion) (owner int) {
	least := held[0]
	for i, p := range held {
		if p.share < least.share || p.share == least.share && p.keys < least.keys {
			owner, least = i, p
		}
	}
	return owner
}

// emptiest returns the first server with the fewest keys, and of these the smallest share.
func emptiest(held []portion) (owner int) {
	least := held[0]
	for i, p := range held {
		if p.keys < least.keys || p.keys == least.keys && p.share < least.share {
			owner, least = i, p
		}
	}
	return owner
}
