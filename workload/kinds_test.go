package workload

import (
	"fmt"
	"slices"
	"testing"
)

// mixOf sets the shares of Mix.
func mixOf(reads, rmws, inserts, deletes, scans float64) func(*Config) {
	return func(c *Config) {
		c.Workload = Mix
		c.Reads, c.ReadModifyWrites, c.Inserts, c.Deletes, c.Scans = reads, rmws, inserts, deletes, scans
	}
}

// Every number of records up to -scan-length is as likely.
func TestScanLengthsAreUniform(t *testing.T) {
	t.Parallel()
	for _, length := range []uint64{1, 2, 7, 100, 1000, MaxScanLength} {
		for _, distribution := range []string{Zipfian, Uniform, Sequential} {
			t.Run(fmt.Sprintf("length=%d/dist=%s", length, distribution), func(t *testing.T) {
				c := DefaultConfig()
				c.Workload, c.ScanLength, c.Distribution, c.Records = YCSBE, length, distribution, 1<<20
				ops := make([]Op, drawn(1_000_000))
				mustNew(t, c).Source(at(0, 0)).Fill(ops)
				counts := make([]uint64, length)
				low := make([]uint64, length) // of the scans from the first quarter of the records
				for _, op := range ops {
					if op.Kind != Scan && op.Limit != 0 || op.Kind == Scan && (op.Limit < 1 || uint64(op.Limit) > length) {
						t.Fatalf("%+v, want a limit of 1 to %d for scans", op, length)
					}
					if op.Kind == Scan {
						counts[op.Limit-1]++
						if op.Key < c.Records/4 {
							low[op.Limit-1]++
						}
					}
				}
				for what, counts := range map[string][]uint64{"scans": counts, "scans of low keys": low} {
					p := chiSquare(counts, func(uint64) float64 { return 1 / float64(length) })
					t.Logf("seed %d: %s: p = %.3g", c.Seed, what, p)
					if !(p > 1e-6) {
						t.Errorf("seed %d: the lengths of %s have p = %.3g against the uniform distribution", c.Seed, what, p)
					}
				}
			})
		}
	}
}

// Workers insert every id from the first one on, each once.
func TestInsertsAreStrides(t *testing.T) {
	c := DefaultConfig()
	c.Records = 1000
	mixOf(0.2, 0, 0.8, 0, 0)(&c)
	for _, distribution := range []string{Zipfian, Latest, Scrambled, Sequential} {
		c.Distribution = distribution
		plan := mustNew(t, c)
		const nodes, workers, each = 3, 5, 100
		seen := make(map[uint64]bool)
		for node := range nodes {
			for worker := range workers {
				place := Place{node, nodes, worker, workers}
				source := plan.Source(place)
				for k := uint64(0); k < each; {
					op := source.Next()
					if op.Kind != Insert {
						if op.Key >= c.Records {
							t.Fatalf("%s: %v of %d, which is not acknowledged", distribution, op.Kind, op.Key)
						}
						continue
					}
					if seen[op.Key] || op.Key != plan.Inserted(place, k) {
						t.Fatalf("%s: insert %d of %+v is %d, want %d, once", distribution, k, place, op.Key, plan.Inserted(place, k))
					}
					seen[op.Key] = true
					k++
				}
			}
		}
		for id := c.Records; id < c.Records+nodes*workers*each; id++ {
			if !seen[id] {
				t.Fatalf("%s: no worker inserts %d", distribution, id)
			}
		}
	}
}

// The ranks that latest draws have zipfian's shares, however many inserts are acknowledged,
// and none is of an insert that is not.
func TestLatestFollowsAcknowledgedInserts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		records uint64
		inserts float64
		behind  uint64 // the inserts that are drawn and not acknowledged
	}{{1000, 0.05, 0}, {1000, 0.05, 300}, {1000, 0.5, 10}, {100_000, 0.05, 100}, {10, 0.9, 5}} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			c := DefaultConfig()
			c.Records, c.Distribution, c.Seed = test.records, Latest, 5
			mixOf(1-test.inserts, 0, test.inserts, 0, 0)(&c)
			place := Place{1, 2, 3, 4}
			plan := mustNew(t, c)
			source, number := plan.Source(place), make(map[uint64]uint64) // of an inserted id
			counts := make([]uint64, c.Records)
			known, inserts := uint64(0), uint64(0)
			var ops [50]Op
			for range drawn(1_000_000) / len(ops) {
				known = max(known, inserts-min(inserts, test.behind))
				source.Acknowledge(known)
				source.Fill(ops[:])
				for _, op := range ops {
					k, inserted := number[op.Key]
					switch {
					case op.Kind == Insert:
						number[op.Key] = inserts
						inserts++
					case inserted && k >= known:
						t.Fatalf("draws insert %d where %d are acknowledged", k, known)
					case inserted:
						counts[known-1-k]++
					case op.Key >= c.Records:
						t.Fatalf("draws %d, which this worker has not inserted", op.Key)
					default:
						counts[known+c.Records-1-op.Key]++
					}
				}
			}
			zipf := newYCSBZipf(c.Records, c.Theta)
			p := chiSquare(counts, func(rank uint64) float64 { return zipf.mass(rank, rank+1) })
			t.Logf("seed %d: %d inserts: p = %.3g", c.Seed, inserts, p)
			if !(p > 1e-6) {
				t.Errorf("seed %d: ranks have p = %.3g against the closed form", c.Seed, p)
			}
		})
	}
}

// A stream's digest, kinds and lengths do not depend on what is acknowledged.
func TestDigestsWithoutAcknowledgement(t *testing.T) {
	c := DefaultConfig()
	c.Workload, c.Records = YCSBD, 1000
	plan := mustNew(t, c)
	one, other := plan.Source(at(1, 1)), plan.Source(at(1, 1))
	differ := false
	for range 10_000 {
		a, b := one.Next(), other.Next()
		if a.Kind != b.Kind {
			t.Fatalf("%v and %v", a, b)
		}
		differ = differ || a.Key != b.Key
		one.Acknowledge(one.inserts)
	}
	if !differ || one.Digest() != other.Digest() || !slices.Equal(one.Prefixes(), other.Prefixes()) {
		t.Errorf("keys differ: %t; digests %x and %x", differ, one.Digest(), other.Digest())
	}
}

// Latest without inserts draws as it does with inserts of which none is done.
func TestLatestWithoutInserts(t *testing.T) {
	c := DefaultConfig()
	c.Distribution, c.Records = Latest, 1000
	old := mustNew(t, c).Source(at(0, 0))
	mixOf(0.95, 0, 0.05, 0, 0)(&c)
	with := mustNew(t, c).Source(at(0, 0))
	for i := range 10_000 {
		a, b := old.Next(), with.Next()
		if b.Kind != Insert && a.Key != b.Key {
			t.Fatalf("operation %d is on %d, with inserts on %d", i, a.Key, b.Key)
		}
	}
}

// Only workloads that insert or scan have padded keys, whose order is that of the ids.
func TestDigits(t *testing.T) {
	for name, want := range map[string]int{YCSBA: 1, YCSBB: 1, YCSBC: 1, YCSBD: paddedDigits, YCSBE: paddedDigits, YCSBF: 1} {
		c := DefaultConfig()
		if c.Workload = name; c.Digits() != want {
			t.Errorf("%s: %d digits, want %d", name, c.Digits(), want)
		}
	}
	for _, test := range []struct {
		change func(*Config)
		want   int
	}{
		{mixOf(0.5, StandardMix, StandardMix, 0.5, StandardMix), 1},
		{mixOf(0.5, StandardMix, StandardMix, StandardMix, 0.1), paddedDigits},
		{mixOf(0.5, StandardMix, 0.1, StandardMix, StandardMix), paddedDigits},
		{mixOf(0.5, 0, 0, 0, 0), 1},
	} {
		c := DefaultConfig()
		if test.change(&c); c.Digits() != test.want {
			t.Errorf("%s: %d digits, want %d", c.Flags(), c.Digits(), test.want)
		}
	}
}

func TestFlagsOfKinds(t *testing.T) {
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Workload = YCSBD }, "-workload YCSB-D -theta 0.99"},
		{func(c *Config) { c.Workload, c.Distribution = YCSBD, Latest }, "-workload YCSB-D -theta 0.99"},
		{func(c *Config) { c.Workload, c.Distribution = YCSBD, Uniform }, "-workload YCSB-D -distribution uniform"},
		{func(c *Config) { c.Workload, c.Distribution = YCSBD, Zipfian }, "-workload YCSB-D -distribution zipfian -theta 0.99"},
		{func(c *Config) { c.Workload = YCSBE }, "-workload YCSB-E -scan-length 100 -theta 0.99"},
		{func(c *Config) { c.Distribution = Scrambled }, "-workload YCSB-B -distribution scrambled -theta 0.99"},
		{mixOf(0.5, StandardMix, 0.25, StandardMix, 0.25), "-workload mix -reads 0.5 -inserts 0.25 -scans 0.25 -scan-length 100 -theta 0.99"},
	} {
		c := DefaultConfig()
		if test.change(&c); c.Flags() != test.want {
			t.Errorf("flags %q, want %q", c.Flags(), test.want)
		}
	}
}
