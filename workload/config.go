package workload

import (
	"fmt"
	"kvlab/metrics/format"
	"math"
	"slices"
	"strings"
)

// The workloads. The first four are the core workloads of YCSB ("Benchmarking
// Cloud Serving Systems with YCSB", SoCC 2010) that insert nothing.
const (
	YCSBA = "YCSB-A" // 50 % reads, 50 % updates
	YCSBB = "YCSB-B" // 95 % reads, 5 % updates
	YCSBC = "YCSB-C" // reads only
	YCSBF = "YCSB-F" // 50 % reads, 50 % read-modify-writes
	Mix   = "mix"    // Config.Reads reads, the rest updates
)

// The distributions of operations over records. Ranks count records from the
// most popular, rank 0.
const (
	Zipfian    = "zipfian"    // rank k is drawn about as often as (k+1)^-theta; record id = rank
	Uniform    = "uniform"    // every record alike
	Sequential = "sequential" // each worker walks all records in order, again and again
	Latest     = "latest"     // zipfian, the record with the highest id first
	Hotspot    = "hotspot"    // HotOps of the operations on the first HotKeys of the records
)

// The two laws behind zipfian and latest.
const (
	ZipfianYCSB  = "ycsb"  // the law that YCSB's own generator follows
	ZipfianExact = "exact" // Zipf's law
)

// MaxRecords is the highest number of records: past it the table would no
// longer fit the sampler's fixed-point numbers.
const MaxRecords = 1 << 40

// StandardMix in Config.Reads leaves the share of reads to the workload.
const StandardMix = -1

// Config says what a run's operations are. Start from DefaultConfig.
type Config struct {
	Workload     string  // -workload: one of the workloads above
	Reads        float64 // -reads: share of reads of a mix, 0 to 1; StandardMix for a YCSB workload
	Distribution string  // -distribution: one of the distributions above; "" for the workload's own, which is zipfian for all
	Zipfian      string  // -zipfian: the law of zipfian and latest
	Theta        float64 // -theta: the exponent of zipfian and latest, above 0; YCSB's is 0.99
	Records      uint64  // -records: how many records there are, 1 to MaxRecords
	HotOps       float64 // -hot-ops: share of the operations that hit a hot record, 0 to 1
	HotKeys      float64 // -hot-keys: share of the records that are hot, above 0, up to 1; at least one record is
	Scramble     bool    // -scramble: spread the popular records over all ids; not with sequential
	Seed         uint64  // -seed: the root of every random choice
}

// DefaultConfig is YCSB-B on a million records as YCSB itself skews them.
func DefaultConfig() Config {
	return Config{
		Workload: YCSBB,
		Reads:    StandardMix,
		Zipfian:  ZipfianYCSB,
		Theta:    0.99,
		Records:  1_000_000,
		HotOps:   0.8,
		HotKeys:  0.2,
		Seed:     1,
	}
}

// Validate returns an error that names the first wrong flag and its right form.
// A flag that the chosen distribution does not use is not looked at.
func (c Config) Validate() error {
	if err := checkChoice("-workload", c.Workload, YCSBA, YCSBB, YCSBC, YCSBF, Mix); err != nil {
		return err
	}
	if err := c.validateReads(); err != nil {
		return err
	}
	if c.Records < 1 || c.Records > MaxRecords {
		return fmt.Errorf("-records %d: want 1 to %d", c.Records, uint64(MaxRecords))
	}
	return c.validateDistribution()
}

func (c Config) validateReads() error {
	if c.Workload != Mix {
		if c.Reads != StandardMix {
			return fmt.Errorf("-reads %v: %s has a mix of its own; -reads goes with -workload %s", c.Reads, c.Workload, Mix)
		}
		return nil
	}
	if !isShare(c.Reads) {
		return fmt.Errorf("-reads %v: -workload %s wants a share of reads from 0 to 1, such as -reads 0.7", c.Reads, Mix)
	}
	return nil
}

func (c Config) validateDistribution() error {
	d := c.distribution()
	if err := checkChoice("-distribution", d, Zipfian, Uniform, Sequential, Latest, Hotspot); err != nil {
		return err
	}
	switch d {
	case Zipfian, Latest:
		if err := checkChoice("-zipfian", c.Zipfian, ZipfianYCSB, ZipfianExact); err != nil {
			return err
		}
		if !(c.Theta > 0) || math.IsInf(c.Theta, 1) {
			return fmt.Errorf("-theta %v: want a number above 0, such as 0.99; for no skew, -distribution %s", c.Theta, Uniform)
		}
	case Hotspot:
		if !isShare(c.HotOps) {
			return fmt.Errorf("-hot-ops %v: want a share of the operations from 0 to 1, such as 0.8", c.HotOps)
		}
		if !isShare(c.HotKeys) || c.HotKeys == 0 {
			return fmt.Errorf("-hot-keys %v: want a share of the records above 0, up to 1, such as 0.2", c.HotKeys)
		}
	case Sequential:
		if c.Scramble {
			return fmt.Errorf("-scramble: a scrambled -distribution %s would not be sequential; drop one of them", d)
		}
	}
	return nil
}

// distribution is the distribution with the workload's own filled in.
func (c Config) distribution() string {
	if c.Distribution == "" {
		return Zipfian
	}
	return c.Distribution
}

// isShare is false for NaN.
func isShare(x float64) bool { return x >= 0 && x <= 1 }

// checkChoice returns nil when value is one of choices, and otherwise an error
// that lists them and points out the nearest.
func checkChoice(flag, value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return fmt.Errorf("%s %q: want one of %s%s", flag, value, strings.Join(choices, ", "), format.DidYouMean(value, "", choices))
}
