package route

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// Popularity yields what is known of the keys before a run, the most popular
// key first: its Hash, and its share of all operations in 1/WholeShare. It
// yields the same each time that it is ranged over. Shares that sum to less than
// WholeShare leave the rest to keys that it does not yield.
type Popularity = iter.Seq2[uint64, uint64]

// WholeShare is the share of all operations together.
const WholeShare = 1 << 48

const (
	slotBits = 13
	slots    = 1 << slotBits // one byte each: a quarter of the first-level cache
	// maxBalanced is how many servers a slot has room for. With that many each
	// still owns 32 slots, enough to be filled evenly.
	maxBalanced = 1 << 8
	// apart is how many of the most popular keys are kept in slots of their own.
	apart = 64
	// apartTries is after how many factors spread gives up. One in five fails.
	apartTries = 64
	// negligible is a share of the operations that nobody would notice on top of
	// one server's: a thousandth of an even share of 16.
	negligible = WholeShare >> 14
	// goldenSection is 2^64 * 0.618...: multiples of it keep further apart than
	// any other number's (Knuth, The Art of Computer Programming 3, section 6.4).
	goldenSection = 0x9e3779b97f4a7c15
)

// balancedRouter gives each server the same share of the operations, as far as
// their popularity is known beforehand. The keys fall into slots by their hash,
// and a table says who owns a slot, as in Redis Cluster; but what a slot holds
// in operations is added up before the run, and the slots are dealt out by it.
//
// A key's owner depends on nothing but its hash and that table, and the table
// on nothing but whole numbers: two keys that share a hash share an owner, and
// a key that nobody knew of has one.
//
// No router can give the busiest server less than the most popular key's share.
// Where that is more than an even share, its server owns hardly anything else.
type balancedRouter struct {
	factor uint64
	owners [slots]uint8
}

// Server costs a multiplication and a read; fnv's division takes longer.
func (b *balancedRouter) Server(_ []byte, hash uint64) int {
	return int(b.owners[slotOf(hash, b.factor)])
}

// Owners sets each owner to the Server of the key with the hash in its place.
func (b *balancedRouter) Owners(owners []uint32, hashes []uint64) {
	for i, hash := range hashes[:len(owners)] {
		owners[i] = uint32(b.owners[slotOf(hash, b.factor)])
	}
}

// slotOf takes the slot from the highest bits of a product, on which all bits of
// the hash have worked. factor is odd.
func slotOf(hash, factor uint64) uint64 { return hash * factor >> (64 - slotBits) }

// portion is what a slot or a server holds.
type portion struct{ share, keys uint64 }

func (p portion) plus(q portion) portion { return portion{p.share + q.share, p.keys + q.keys} }

func newBalanced(servers int, known Popularity) (Router, error) {
	if servers > maxBalanced {
		return nil, fmt.Errorf("-router balanced: want at most %d servers, not %d", maxBalanced, servers)
	}
	if known == nil {
		known = func(func(uint64, uint64) bool) {}
	}
	b := &balancedRouter{factor: spread(known)}
	b.deal(weigh(known, b.factor), servers)
	return b, nil
}

// spread returns the first power of the golden section that keeps the most
// popular keys in slots of their own: two of them in one slot could be more than
// an even share.
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

// weigh returns what each slot holds. The keys that nobody knows of count for
// all slots alike.
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

// deal gives the slots, the heaviest first, each to the server that has the
// least (R. L. Graham, "Bounds on Multiprocessing Timing Anomalies", SIAM J.
// Appl. Math. 17(2), 1969). When what is left is negligible it goes by the number
// of keys instead, or a law that leaves most keys without operations would store
// them all on one server.
func (b *balancedRouter) deal(table []portion, servers int) {
	order := make([]int, slots)
	left := uint64(0)
	for i, slot := range table {
		order[i] = i
		left += slot.share
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(table[j].share, table[i].share), cmp.Compare(i, j))
	})
	held := make([]portion, servers)
	compare := busier
	for _, at := range order {
		if left < negligible {
			compare = fuller
		}
		owner := 0
		for i := range held {
			if compare(held[i], held[owner]) < 0 {
				owner = i
			}
		}
		b.owners[at] = uint8(owner)
		held[owner] = held[owner].plus(table[at])
		left -= table[at].share
	}
}

func busier(p, q portion) int {
	return cmp.Or(cmp.Compare(p.share, q.share), cmp.Compare(p.keys, q.keys))
}

func fuller(p, q portion) int {
	return cmp.Or(cmp.Compare(p.keys, q.keys), cmp.Compare(p.share, q.share))
}
