package workload

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// The parameters of YCSB's ScrambledZipfianGenerator.
const (
	ycsbZeta  = 26.46902820178302
	ycsbItems = 10_000_000_000 + 1 // from 0 to ITEM_COUNT
)

// javaRecord returns min + Utils.fnvhash64(item) % itemcount, with Java's signed numbers.
func javaRecord(item, records uint64) uint64 {
	hash := fnv.New64a()
	_ = binary.Write(hash, binary.LittleEndian, item) // a hash returns no error
	signed := int64(hash.Sum64())
	if signed < 0 {
		signed = -signed
	}
	return uint64(signed % int64(records))
}

func TestItemsHashAsYCSB(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, records := range []uint64{1, 2, 3, 10, 1000, 1 << 20, 1_000_003, MaxRecords - 1, MaxRecords} {
		h := newHashing(records)
		for i := range uint64(20_000) {
			item := i
			if i >= 10_000 {
				item = random.Uint64N(ycsbItems)
			}
			if got, want := h.at(item), javaRecord(item, records); got != want {
				t.Fatalf("item %d is record %d of %d, want %d", item, got, records, want)
			}
		}
	}
}

// TestScrambledPublishedFigures holds the items' distribution against YCSB's constant, and the
// share of the most popular record.
func TestScrambledPublishedFigures(t *testing.T) {
	t.Parallel()
	c := DefaultConfig()
	c.Distribution = Scrambled
	plan := mustNew(t, c)
	items := plan.distribution.(ycsbZipf)
	if items.n != ycsbItems || !closeTo(items.zeta, ycsbZeta, 1e-9) {
		t.Errorf("%d items with zeta %v, want %v", items.n, items.zeta, ycsbZeta)
	}
	if got := items.mass(0, 1); !closeTo(got, 0.0378, 1e-3) {
		t.Errorf("item 0 has %v, want 3.78 %%", got)
	}
	if got := plan.Mass(0); !closeTo(got, 0.0378, 1e-3) || plan.Key(0) != javaRecord(0, c.Records) {
		t.Errorf("the most popular record is %d with %v, want %d with 3.78 %%", plan.Key(0), got, javaRecord(0, c.Records))
	}
}

// The draws have the records' masses; so have those of YCSB's own formula and hash. With
// KVLAB_LONG=1 there are up to two million records.
func TestScrambledMatchesItsRanking(t *testing.T) {
	t.Parallel()
	sizes := []uint64{1, 3, 1009, 100_000}
	if os.Getenv("KVLAB_LONG") == "1" {
		sizes = append(sizes, 2<<20)
	}
	for _, n := range sizes {
		t.Run(fmt.Sprintf("records=%d", n), func(t *testing.T) {
			c := DefaultConfig()
			c.Distribution, c.Records, c.Seed = Scrambled, n, 11
			checkDistribution(t, c, 1_000_000)

			plan, draws := mustNew(t, c), drawn(1_000_000)
			random := rand.New(rand.NewPCG(c.Seed, c.Seed))
			draw := ycsbDraw(ycsbItems, c.Theta, ycsbZeta)
			byRecord, counts := make([]uint64, n), make([]uint64, n)
			for range draws {
				byRecord[javaRecord(draw(random.Float64()), n)]++
			}
			for rank := range counts {
				counts[rank] = byRecord[plan.Key(uint64(rank))]
			}
			p := chiSquare(counts, plan.Mass)
			t.Logf("seed %d: YCSB's generator: p = %.3g", c.Seed, p)
			if !(p > 1e-6) {
				t.Errorf("seed %d: YCSB's generator has p = %.3g against the records' masses", c.Seed, p)
			}
		})
	}
}

// Ranks are a permutation of the records, their masses fall and sum to 1, and Popular yields
// the same.
func TestRankingOfRecords(t *testing.T) {
	t.Parallel()
	for n, inserts := range map[uint64]float64{1: 0, 2: 0.5, 1009: 0, 100_000: 0, KnownRanks + 1000: 0.25} {
		c := DefaultConfig()
		c.Distribution, c.Records = Scrambled, n
		mixOf(1-inserts, 0, inserts, 0, 0)(&c)
		plan := mustNew(t, c)
		seen, masses, sum, last := make([]bool, n), make([]float64, n), 0.0, math.Inf(1)
		for rank := range n {
			id, mass := plan.Key(rank), plan.Mass(rank)
			if seen[id] {
				t.Fatalf("%d records: %d has two ranks", n, id)
			}
			if mass > last*(1+1e-4) {
				t.Fatalf("%d records: rank %d has %v, before it %v", n, rank, mass, last)
			}
			seen[id], masses[rank], last = true, mass, mass
			sum += mass
		}
		if !closeTo(sum, 1-inserts, 1e-9) {
			t.Errorf("%d records: masses sum to %v, want %v", n, sum, 1-inserts)
		}
		rank := uint64(0)
		for id, share := range plan.Popular() {
			if got := math.Ldexp(float64(share), -48); id != plan.Key(rank) || !closeTo(got, masses[rank], 1e-4) {
				t.Fatalf("%d records: rank %d is %d with %v, want %d with %v", n, rank, id, got, plan.Key(rank), masses[rank])
			}
			rank++
		}
		if rank != min(n, KnownRanks) {
			t.Errorf("%d records: %d are known", n, rank)
		}
	}
}

// The table of few records adds up what the sorted items of many do.
func TestFewAndManyRecords(t *testing.T) {
	t.Parallel()
	for _, n := range []uint64{1, 100_000} {
		c := DefaultConfig()
		c.Distribution, c.Records = Scrambled, n
		plan := mustNew(t, c)
		masses, known := plan.itemMasses()
		few := &ranking{rest: (1 - known) / float64(n)}
		many := &ranking{rest: few.rest}
		plan.addFew(few, masses)
		plan.addMany(many, masses)
		if !slices.Equal(few.ids, many.ids) || !slices.Equal(few.known, many.known) {
			t.Errorf("%d records: %d have a known item, or %d, or other masses", n, len(few.known), len(many.known))
		}
	}
}
