package workload

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"

	"kvlab/internal/cli"
)

// items is the number of items of YCSB's ScrambledZipfianGenerator, from which its core
// workloads draw for requestdistribution=zipfian: an item from 0 to ITEM_COUNT, which
// is 10^10, by its ZipfianGenerator with theta 0.99. The generator is given the zeta of
// 10^10 items, 26.46902820178302, in place of computing it; the zeta of one more item has the
// same first 11 digits (site.ycsb.generator.ScrambledZipfianGenerator, commit cd1589ce6f).
const items = 10_000_000_000 + 1

func newScrambled(c Config) (distribution, error) {
	if err := cli.Want(!c.Scramble, "-scramble", c.Scramble, "false with -distribution %s", Scrambled); err != nil {
		return nil, err
	}
	c.Records = items
	return newZipfian(c)
}

// hashing maps items to records as YCSB does: by a hash modulo the number of records. It
// is no bijection: several items share a record. With as many records as known items, a
// third of the records have no known item.
type hashing struct {
	n        uint64 // the number of records
	quotient uint64 // 2^64/n, rounded down, at most 2^64-1
}

func newHashing(n uint64) hashing { return hashing{n, ^uint64(0) / n} }

// at returns an item's record. The remainder of affine.at's method is below 2n: the hash is
// at most 2^63.
func (h hashing) at(item uint64) uint64 {
	hash := ycsbHash(item)
	q, _ := bits.Mul64(hash, h.quotient)
	r := hash - q*h.n
	less, below := bits.Sub64(r, h.n, 0)
	return less + h.n&-below
}

// ycsbHash returns the absolute value of the 64-bit FNV-1a hash of an item's eight bytes, the
// lowest first (site.ycsb.Utils.fnvhash64). The highest three bytes of an item are 0.
func ycsbHash(item uint64) uint64 {
	const prime = 1099511628211
	h := uint64(0xcbf29ce484222325)
	h = (h ^ item&0xff) * prime
	h = (h ^ item>>8&0xff) * prime
	h = (h ^ item>>16&0xff) * prime
	h = (h ^ item>>24&0xff) * prime
	h = (h ^ item>>32) * (prime * prime * prime * prime % (1 << 64))
	sign := uint64(int64(h) >> 63)
	return h ^ sign - sign
}

// ranking holds hashed records in the order of popularity. The first KnownRanks items are
// looked up. Each of the other items is too rare to matter, and every record has about as
// many of these: their part of a record's share is accurate to 10 % with 10^6 records.
type ranking struct {
	known []ranked // the records that have a known item, the most popular first
	ids   []uint64 // the ids of these records, in rising order
	rest  float64  // the share of each other record
}

type ranked struct {
	id    uint64
	mass  float64 // its share of the operations that draw a record
	share uint64  // as Popular yields it, the same on all machines
}

// rank returns the ranking of the records.
func (p *Plan) rank() *ranking {
	masses, known := p.itemMasses()
	r := &ranking{rest: (1 - known) / float64(p.config.Records)}
	if p.config.Records <= KnownRanks {
		p.addFew(r, masses)
	} else {
		p.addMany(r, masses)
	}
	for i := range r.known {
		r.known[i].share = p.popularity(r.known[i].mass, 1)
	}
	slices.SortFunc(r.known, func(a, b ranked) int {
		if a.share != b.share {
			return cmp.Compare(b.share, a.share)
		}
		return cmp.Compare(a.id, b.id)
	})
	return r
}

// addFew adds the records that have a known item, in the order of their ids, if a table of
// all records is small.
func (p *Plan) addFew(r *ranking, masses []float64) {
	table, found := make([]float64, p.config.Records), make([]bool, p.config.Records)
	for item, mass := range masses {
		id := p.hashing.at(uint64(item))
		if !found[id] {
			found[id], table[id] = true, r.rest
		}
		table[id] += mass
	}
	for id, mass := range table {
		if found[id] {
			r.ids, r.known = append(r.ids, uint64(id)), append(r.known, ranked{id: uint64(id), mass: mass})
		}
	}
}

// addMany adds the same records as addFew, for any number of records. It sorts the items by
// their records.
func (p *Plan) addMany(r *ranking, masses []float64) {
	pairs := make([]uint64, len(masses)) // a record, and in the low bits one of its items
	for item := range pairs {
		pairs[item] = p.hashing.at(uint64(item))*KnownRanks + uint64(item)
	}
	slices.Sort(pairs)
	for _, pair := range pairs {
		id, item := pair/KnownRanks, pair%KnownRanks
		if n := len(r.ids); n == 0 || r.ids[n-1] != id {
			r.ids, r.known = append(r.ids, id), append(r.known, ranked{id: id, mass: r.rest})
		}
		r.known[len(r.known)-1].mass += masses[item]
	}
}

// itemMasses returns the masses of the known items and their sum.
func (p *Plan) itemMasses() (masses []float64, sum float64) {
	cuts := p.distribution.cuts()
	masses = make([]float64, 0, KnownRanks)
	for i := 0; len(masses) < KnownRanks; i++ {
		from, to := cuts[i], min(cuts[i+1], KnownRanks)
		mass := p.distribution.mass(from, to)
		sum += mass
		for range to - from {
			masses = append(masses, mass/float64(to-from))
		}
	}
	return masses, sum
}

// id returns the record of a popularity rank. Records without a known item are in the order
// of their ids.
func (r *ranking) id(rank uint64) uint64 {
	if rank < uint64(len(r.known)) {
		return r.known[rank].id
	}
	others := rank - uint64(len(r.known)) // this many records without a known item have lower ids
	below := sort.Search(len(r.ids), func(i int) bool { return r.ids[i]-uint64(i) > others })
	return others + uint64(below)
}

// mass returns the share of the record with a popularity rank.
func (r *ranking) mass(rank uint64) float64 {
	if rank < uint64(len(r.known)) {
		return r.known[rank].mass
	}
	return r.rest
}
