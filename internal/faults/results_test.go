package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// The test in the lab prints the results between these lines.
const (
	tableBegins = "\n--- results\n"
	tableEnds   = "--- end of results\n"
)

// seedsOfEach is the number of faults of each kind in a long test.
const seedsOfEach = 20

// shortSeed is the seed of a short test, so that CI repeats the same faults. It is the
// first seed that strikes repeated kinds in different phases, on a server's and a
// client's host.
const shortSeed = 658

// seedOf returns the seed of the faults.
func seedOf(t *testing.T) uint64 {
	seed := uint64(shortSeed)
	if long() {
		seed = uint64(time.Now().UnixNano())
	}
	if text := os.Getenv("KVLAB_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("KVLAB_SEED: %v", err)
		}
	}
	t.Logf("seed %d", seed)
	return seed
}

// strikeAll draws faults of every kind, and records the results.
func strikeAll(t *testing.T, seed uint64, take func(*testing.T) *pair, all *results) {
	all.seed = seed
	for n, k := range kinds() {
		result := &result{kind: k.name}
		all.kinds = append(all.kinds, result)
		faults := max(1, k.short)
		if long() {
			faults = seedsOfEach
		}
		for i := range faults {
			random := rand.New(rand.NewPCG(seed, uint64(n)<<32|uint64(i)))
			r := k.draw(random)
			t.Run(fmt.Sprintf("%s %02d", k.name, i), func(t *testing.T) {
				p := take(t)
				t.Logf("seed %d: victim %q, %v into phase %q", seed, r.victim, r.after, r.phase)
				var o outcome
				defer func() { result.add(o) }()
				r.check(t, p, random, &o)
			})
		}
	}
}

// results holds the result of every kind of fault.
type results struct {
	seed  uint64
	kinds []*result
}

// result sums up the faults of a kind. It is safe for concurrent use.
type result struct {
	kind string

	mu                         sync.Mutex
	faults, right, valid, hung int           // guarded by mu, as below
	seen, ended                time.Duration // the slowest
}

func (r *result) add(o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults++
	if o.right {
		r.right++
	}
	if o.valid {
		r.valid++
	}
	if o.hung {
		r.hung++
	}
	r.seen, r.ended = max(r.seen, o.seen), max(r.ended, o.ended)
}

// String returns a table with a line for each kind.
func (r *results) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\n", r.seed)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "fault\tseeds\tright\tof them VALID\thangs\tslowest seen\tslowest end")
	var sum result
	for _, k := range r.kinds {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%.1f s\t%.1f s\n", k.kind, k.faults, k.right, k.valid, k.hung, k.seen.Seconds(), k.ended.Seconds())
		sum.faults, sum.right, sum.valid, sum.hung = sum.faults+k.faults, sum.right+k.right, sum.valid+k.valid, sum.hung+k.hung
	}
	fmt.Fprintf(table, "all\t%d\t%d\t%d\t%d\n", sum.faults, sum.right, sum.valid, sum.hung)
	table.Flush() // to memory: no error
	return b.String()
}
