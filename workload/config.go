package workload

import (
	"cmp"
	"fmt"
)

// MaxRecords is the maximum number of records. The table of more records exceeds the
// sampler's fixed-point numbers.
const MaxRecords = 1 << 40

// StandardMix in Config.Reads leaves the share of reads to the workload.
const StandardMix = -1

// Config determines a run's operations. DefaultConfig is its starting point.
type Config struct {
	Workload     string  // -workload: a workload
	Reads        float64 // -reads: the share of reads of Mix, 0 to 1; StandardMix for other workloads
	Distribution string  // -distribution: a distribution; "" for Zipfian
	Zipfian      string  // -zipfian: the form of Zipfian and Latest
	Theta        float64 // -theta: the exponent of Zipfian and Latest, above 0; YCSB's is 0.99
	Records      uint64  // -records: the number of records, 1 to MaxRecords
	HotOps       float64 // -hot-ops: the share of the operations on hot records, 0 to 1
	HotKeys      float64 // -hot-keys: the share of the records that are hot, above 0, up to 1; at least one record is
	Scramble     bool    // -scramble: spreads the popular records over all ids; not with Sequential
	Seed         uint64  // -seed: the root of all random choices
}

// DefaultConfig returns YCSB-B on a million records with YCSB's skew.
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

// law returns the law of the distribution.
func (c Config) law() (law, error) {
	return find("-distribution", cmp.Or(c.Distribution, Zipfian), distributions)
}

// Flags returns the flags that determine the kinds and keys of a valid
// configuration's operations, without the number of records.
func (c Config) Flags() string {
	flags := "-workload " + c.Workload
	if c.Reads != StandardMix {
		flags += fmt.Sprintf(" -reads %g", c.Reads)
	}
	if c.Distribution != "" && c.Distribution != Zipfian {
		flags += " -distribution " + c.Distribution
	}
	l, _ := c.law()
	return flags + l.flags(c)
}

// isShare reports whether x is from 0 to 1. NaN is not.
func isShare(x float64) bool { return x >= 0 && x <= 1 }
