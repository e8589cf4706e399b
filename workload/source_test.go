package workload

import (
	"flag"
	"fmt"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// at returns the place of a worker of the last node, the last one there.
func at(node, worker int) Place {
	return Place{Node: node, Nodes: node + 1, Worker: worker, Workers: worker + 1}
}

// Next returns the next operation.
func (s *Source) Next() Op {
	var op [1]Op
	s.Fill(op[:])
	return op[0]
}

var update = flag.Bool("update", false, "write the golden files anew")

// A golden stream has a name, and is of the default configuration with a change.
type golden struct {
	name   string
	change func(*Config)
}

func TestGoldenStreams(t *testing.T) {
	checkGolden(t, "streams.golden", []golden{
		{"YCSB-B zipfian", func(c *Config) {}},
		{"YCSB-A zipfian exact", func(c *Config) { c.Workload, c.Zipfian = YCSBA, ZipfianExact }},
		{"YCSB-F latest", func(c *Config) { c.Workload, c.Distribution = YCSBF, Latest }},
		{"YCSB-C uniform", func(c *Config) { c.Workload, c.Distribution = YCSBC, Uniform }},
		{"mix 0.7 hotspot scrambled", func(c *Config) { c.Workload, c.Reads, c.Distribution, c.Scramble = Mix, 0.7, Hotspot, true }},
		{"YCSB-B sequential", func(c *Config) { c.Distribution = Sequential }},
	})
	checkGolden(t, "kinds.golden", []golden{
		{"YCSB-D", func(c *Config) { c.Workload = YCSBD }},
		{"YCSB-E", func(c *Config) { c.Workload = YCSBE }},
		{"YCSB-A scrambled", func(c *Config) { c.Workload, c.Distribution = YCSBA, Scrambled }},
		{"mix of all kinds, sequential", func(c *Config) { mixOf(0.3, 0.1, 0.2, 0.1, 0.2)(c); c.Distribution = Sequential }},
	})
}

// checkGolden keeps the operations of a seed the same from release to release: the first 20
// of several configurations and the digest of 100,000. Of its inserts a worker knows those
// that it drew before.
func checkGolden(t *testing.T, file string, streams []golden) {
	t.Helper()
	var text strings.Builder
	for _, g := range streams {
		c := DefaultConfig()
		g.change(&c)
		source := mustNew(t, c).Source(at(1, 2))
		fmt.Fprintf(&text, "%s, seed %d, node 1, worker 2\n", g.name, c.Seed)
		for range 20 {
			op := source.Next()
			source.Acknowledge(source.inserts)
			fmt.Fprintf(&text, "%s %d", op.Kind, op.Key)
			if op.Kind == Scan {
				fmt.Fprintf(&text, " %d", op.Limit)
			}
			fmt.Fprintln(&text)
		}
		source.Fill(make([]Op, 100_000-20))
		fmt.Fprintf(&text, "digest of %d: %016x\n\n", source.Drawn(), source.Digest())
	}
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text.String() != string(want) {
		t.Errorf("operations differ from %s:\n%s", path, text.String())
	}
}

func TestStreamDoesNotDependOnTheCalls(t *testing.T) {
	for _, distribution := range []string{Zipfian, Sequential, Latest, Scrambled} {
		c := DefaultConfig()
		c.Distribution, c.Records = distribution, 10_007
		if distribution != Zipfian {
			mixOf(0.3, 0.1, 0.2, 0.1, 0.2)(&c)
		}
		plan := mustNew(t, c)
		want := make([]Op, 30_000)
		whole := plan.Source(at(3, 4))
		whole.Fill(want)

		cut := plan.Source(at(3, 4))
		var got []Op
		for size := 0; len(got) < len(want); size = (size + 1) % 500 {
			ops := make([]Op, min(size, len(want)-len(got)))
			cut.Fill(ops)
			got = append(got, ops...)
			if len(got) < len(want) {
				got = append(got, cut.Next())
			}
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%s: operation %d is %v in pieces and %v at once", distribution, i, got[i], want[i])
			}
		}
		if cut.Digest() != whole.Digest() || cut.Drawn() != whole.Drawn() || cut.Drawn() != 30_000 {
			t.Errorf("%s: digest %x of %d in pieces, %x of %d at once", distribution,
				cut.Digest(), cut.Drawn(), whole.Digest(), whole.Drawn())
		}
	}
}

// TestDigestIsItsFormula computes the documented formula anew.
func TestDigestIsItsFormula(t *testing.T) {
	all := DefaultConfig()
	mixOf(0.3, 0.1, 0.2, 0.1, 0.2)(&all)
	for _, c := range []Config{DefaultConfig(), all} {
		source := mustNew(t, c).Source(at(0, 0))
		want := uint64(0)
		for range 1000 {
			op := source.Next()
			word := 4*op.Key + uint64(op.Kind)%4 + uint64(op.Limit)<<44 + uint64(op.Kind)/4<<60
			want = (bits.RotateLeft64(want, 29) ^ word) * 0x9e3779b97f4a7c15
		}
		if got := source.Digest(); got != want {
			t.Errorf("%s: Digest() = %016x, want %016x", c.Flags(), got, want)
		}
	}
}

func TestStreamsDiffer(t *testing.T) {
	seen := map[uint64]string{}
	for _, seed := range []uint64{0, 1, 2, math.MaxUint64} {
		c := DefaultConfig()
		c.Seed = seed
		plan, again := mustNew(t, c), mustNew(t, c)
		for node := range 16 {
			for worker := range 64 {
				name := fmt.Sprintf("seed %d node %d worker %d", seed, node, worker)
				source, same := plan.Source(at(node, worker)), again.Source(at(node, worker))
				source.Fill(make([]Op, 20))
				same.Fill(make([]Op, 20))
				if source.Digest() != same.Digest() {
					t.Fatalf("%s has two streams", name)
				}
				if other, ok := seen[source.Digest()]; ok {
					t.Errorf("%s has the stream of %s", name, other)
				}
				seen[source.Digest()] = name
			}
		}
	}
}

// TestMixIsBinomial wants every kind within five standard deviations.
func TestMixIsBinomial(t *testing.T) {
	t.Parallel()
	n := drawn(1_000_000)
	draws := float64(n)
	tests := []struct {
		workload string
		reads    float64
		want     map[Kind]float64
	}{
		{YCSBD, StandardMix, map[Kind]float64{Read: 0.95, Insert: 0.05}},
		{YCSBE, StandardMix, map[Kind]float64{Scan: 0.95, Insert: 0.05}},
		{YCSBA, StandardMix, map[Kind]float64{Read: 0.5, Update: 0.5}},
		{YCSBB, StandardMix, map[Kind]float64{Read: 0.95, Update: 0.05}},
		{YCSBC, StandardMix, map[Kind]float64{Read: 1}},
		{YCSBF, StandardMix, map[Kind]float64{Read: 0.5, ReadModifyWrite: 0.5}},
		{Mix, 0.7, map[Kind]float64{Read: 0.7, Update: 0.3}},
		{Mix, 0.4, map[Kind]float64{Read: 0.4, ReadModifyWrite: 0.1, Insert: 0.2, Delete: 0.05, Scan: 0.15, Update: 0.1}},
		{Mix, 0.4, map[Kind]float64{Read: 0.4, Delete: 0.6}},
		{Mix, 0, map[Kind]float64{ReadModifyWrite: 0.5, Update: 0.5}},
		{Mix, 0, map[Kind]float64{Update: 1}},
		{Mix, 1, map[Kind]float64{Read: 1}},
	}
	for _, test := range tests {
		for _, distribution := range []string{Zipfian, Sequential} {
			t.Run(fmt.Sprintf("%s/reads=%v/dist=%s", test.workload, test.reads, distribution), func(t *testing.T) {
				c := DefaultConfig()
				c.Workload, c.Reads, c.Distribution = test.workload, test.reads, distribution
				if c.Workload == Mix {
					mixOf(test.reads, test.want[ReadModifyWrite], test.want[Insert], test.want[Delete], test.want[Scan])(&c)
				}
				plan := mustNew(t, c)
				ops := make([]Op, n)
				plan.Source(at(0, 0)).Fill(ops)
				counts := map[Kind]float64{}
				for _, op := range ops {
					counts[op.Kind]++
				}
				for kind := range Kind(Kinds) {
					share := test.want[kind]
					if got := plan.Share(kind); math.Abs(got-share) > 1e-12 || c.Share(kind) != got {
						t.Errorf("Share(%s) = %v, want %v", kind, got, share)
					}
					bound := 5 * math.Sqrt(draws*share*(1-share))
					if math.Abs(counts[kind]-draws*share) > bound {
						t.Errorf("seed %d: %v of %v operations are a %s, want %v within %v",
							c.Seed, counts[kind], draws, kind, draws*share, bound)
					}
				}
			})
		}
	}
}

// TestKindIsIndependentOfTheKey compares each record's reads with the mix.
func TestKindIsIndependentOfTheKey(t *testing.T) {
	for _, distribution := range []string{Zipfian, Uniform} {
		c := DefaultConfig()
		c.Workload, c.Distribution, c.Records = YCSBA, distribution, 1000
		source := mustNew(t, c).Source(at(0, 0))
		ops := make([]Op, 1_000_000)
		source.Fill(ops)
		var all, reads [1000]float64
		for _, op := range ops {
			all[op.Key]++
			if op.Kind == Read {
				reads[op.Key]++
			}
		}
		sum := 0.0 // of 1,000 squared normal variables: mean 1000, deviation 45
		for key := range all {
			sum += (reads[key] - all[key]/2) * (reads[key] - all[key]/2) / (all[key] / 4)
		}
		t.Logf("%s: seed %d: sum of squares %.0f", distribution, c.Seed, sum)
		if math.Abs(sum-1000) > 5*math.Sqrt(2000) {
			t.Errorf("%s: seed %d: sum of squares %.0f over 1000 records, want 1000 within 224", distribution, c.Seed, sum)
		}
	}
}

func TestSequentialWalksAllRecords(t *testing.T) {
	for _, n := range []uint64{1, 2, 1009} {
		c := DefaultConfig()
		c.Distribution, c.Records = Sequential, n
		plan := mustNew(t, c)
		starts := map[uint64]bool{}
		for worker := range 64 {
			source := plan.Source(at(0, worker))
			at := source.Next().Key
			starts[at] = true
			for range 2 * n {
				at = (at + 1) % n
				if key := source.Next().Key; key != at {
					t.Fatalf("records=%d worker %d: key %d, want %d", n, worker, key, at)
				}
			}
		}
		if n > 1000 && len(starts) < 50 {
			t.Errorf("64 workers start at %d records of %d", len(starts), n)
		}
	}
}

func TestFillDoesNotAllocate(t *testing.T) {
	for _, distribution := range []string{Zipfian, Sequential, Latest, Scrambled} {
		c := DefaultConfig()
		if c.Distribution = distribution; distribution != Zipfian {
			c.Workload = YCSBE
		}
		source := mustNew(t, c).Source(at(0, 0))
		ops := make([]Op, 1000)
		if n := testing.AllocsPerRun(100, func() { source.Fill(ops); source.Next() }); n != 0 {
			t.Errorf("%s: %v allocations for 1001 operations, want none", distribution, n)
		}
	}
}

// A stream's prefixes are the digests of shorter streams, however it was cut.
func TestPrefixes(t *testing.T) {
	for _, distribution := range []string{Zipfian, Sequential} {
		c := DefaultConfig()
		c.Records, c.Distribution = 1000, distribution
		plan, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []int{1, 3, 512, 5000} {
			source := plan.Source(at(0, 1))
			for source.Drawn() < 5000 {
				source.Fill(make([]Op, cut))
			}
			prefixes := source.Prefixes()
			if len(prefixes) != 13 { // 2^12 is 4096
				t.Fatalf("%s by %d: %d prefixes of %d operations", distribution, cut, len(prefixes), source.Drawn())
			}
			for k, got := range prefixes {
				again := plan.Source(at(0, 1))
				for range 1 << k {
					again.Next()
				}
				if got != again.Digest() {
					t.Errorf("%s by %d: prefix %d is %x, want %x", distribution, cut, k, got, again.Digest())
				}
			}
		}
	}
}
