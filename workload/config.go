package workload

import (
	"cmp"
	"fmt"

	"kvlab/internal/cli"
)

// MaxRecords is the maximum number of records. The table of more records exceeds the
// sampler's fixed-point numbers.
const MaxRecords = 1 << 40

// StandardMix, as the share of a kind, stands for the workload's own share.
const StandardMix = -1

// MaxScanLength is the maximum of Config.ScanLength.
const MaxScanLength = 1<<16 - 1

// Config determines a run's operations. DefaultConfig is its starting point.
type Config struct {
	Workload     string  // -workload: a workload
	Reads        float64 // -reads: the share of reads of Mix, 0 to 1; StandardMix for other workloads, and for none
	Distribution string  // -distribution: a distribution; "" for the workload's own
	Zipfian      string  // -zipfian: the form of Zipfian, Latest and Scrambled
	Theta        float64 // -theta: the exponent of Zipfian, Latest and Scrambled, above 0; YCSB's is 0.99
	Records      uint64  // -records: the number of records, 1 to MaxRecords
	ScanLength   uint64  // -scan-length: the most records that a scan reads, 1 to MaxScanLength; all numbers up to it are equally likely
	HotOps       float64 // -hot-ops: the share of the operations on hot records, 0 to 1
	HotKeys      float64 // -hot-keys: the share of the records that are hot, above 0, up to 1; at least one record is
	HotMove      uint64  // -hot-move: after as many operations of all workers the popular ranks shift by the hot records; 0 for never; Hotspot and Zipfian alone
	Scramble     bool    // -scramble: spreads the popular records over all ids; not with Sequential and Scrambled
	Seed         uint64  // -seed: the root of all random choices
	Replay       string  // -replay: a compiled trace (workload/trace), in place of Workload; "" for none
	TraceKeys    string  // -trace-keys: whose keys a replay has, OwnKeys or OriginalKeys
	ReplayLoop   bool    // -replay-loop: begins the trace again at its end, with new keys for those that are not loaded
	Ops          uint64  // -ops: how many operations all workers of all clients have together; 0 is no limit, and of a trace all of it

	// The shares of the other kinds of Mix, likewise: -rmws, -inserts, -deletes, -scans. The
	// rest are updates.
	ReadModifyWrites, Inserts, Deletes, Scans float64
}

// DefaultConfig returns YCSB-B on a million records with YCSB's skew.
func DefaultConfig() Config {
	c := Config{
		Workload:   YCSBB,
		Zipfian:    ZipfianYCSB,
		Theta:      0.99,
		Records:    1_000_000,
		ScanLength: 100, // YCSB-E's maxscanlength
		HotOps:     0.8,
		HotKeys:    0.2,
		Seed:       1,
		TraceKeys:  OwnKeys,
	}
	for _, p := range c.portions() {
		*p.share = StandardMix
	}
	return c
}

// law returns the name and the law of the distribution.
func (c Config) law() (name string, l law, err error) {
	w, _ := find("-workload", c.Workload, workloads)
	name = cmp.Or(c.Distribution, w.distribution, Zipfian)
	l, err = find("-distribution", name, distributions)
	return name, l, err
}

// SetRecords sets the workload's own number of records, for a command line without -records.
func (c *Config) SetRecords() {
	w, _ := find("-workload", c.Workload, workloads)
	c.Records = cmp.Or(w.records, c.Records)
}

// Flags returns the flags that determine the kinds and keys of a valid
// configuration's operations, without the number of records.
func (c Config) Flags() string {
	if c.Replay != "" {
		flags := "-replay " + c.Replay
		if c.ReplayLoop {
			flags += " -replay-loop"
		}
		return flags + c.opsFlag()
	}
	flags := "-workload " + c.Workload
	for _, p := range c.portions() {
		if *p.share != StandardMix {
			flags += fmt.Sprintf(" -%s %g", p.flag, *p.share)
		}
	}
	own := c
	own.Distribution = ""
	standard, _, _ := own.law()
	name, l, _ := c.law()
	if name != standard {
		flags += " -distribution " + name
	}
	if m, err := newMix(c); err == nil && m.shares[Scan] > 0 {
		flags += fmt.Sprintf(" -scan-length %d", c.ScanLength)
	}
	flags += l.flags(c)
	if c.HotMove > 0 {
		if name != Hotspot {
			flags += fmt.Sprintf(" -hot-keys %g", c.HotKeys)
		}
		flags += fmt.Sprintf(" -hot-move %d", c.HotMove)
	}
	return flags + c.opsFlag()
}

// opsFlag returns -ops; "" without it.
func (c Config) opsFlag() string {
	if c.Ops == 0 {
		return ""
	}
	return fmt.Sprintf(" -ops %d", c.Ops)
}

// paddedDigits is the number of digits in the keys of a workload that inserts or scans:
// enough for MaxRecords, and 8*10^12 inserts.
const paddedDigits = 13

// Digits returns the least number of digits of a record's id in its key. In a workload
// that inserts or scans, keys are in the order of their ids.
func (c Config) Digits() int {
	if c.Replay != "" {
		return 1
	}
	if m, err := newMix(c); err == nil && m.shares[Insert]+m.shares[Scan] > 0 {
		return paddedDigits
	}
	return 1
}

// The keys of a replay.
const (
	OwnKeys      = "kvlab"
	OriginalKeys = "original"
)

// KeyTexts returns a function that gives a trace's own keys by their ids; nil without them.
func (c Config) KeyTexts() func(id uint64) []byte {
	if r, err := newReplay(c); c.TraceKeys == OriginalKeys && r != nil && err == nil {
		return r.Text
	}
	return nil
}

// LongestKey returns the bytes of the longest of a trace's own keys; 0 without them.
func (c Config) LongestKey() int {
	if r, err := newReplay(c); c.TraceKeys == OriginalKeys && r != nil && err == nil {
		return r.Longest
	}
	return 0
}

// KeyLengths returns a function that gives the lengths of keys by their ids; nil without a trace
// that tells them.
func (c Config) KeyLengths() func(id uint64) int {
	r, err := newReplay(c)
	if err != nil || r == nil || r.KeyBytes == 0 {
		return nil
	}
	return func(id uint64) int {
		_, length, _ := r.Key(r.base(id))
		return length
	}
}

// isShare reports whether x is from 0 to 1. NaN is not.
func isShare(x float64) bool { return x >= 0 && x <= 1 }

// choice is a row of a table: the value of the table's flag, its description in the
// help, and what it selects.
type choice[T any] struct {
	name, description string
	selects           T
}

// Label returns the name and the description.
func (c choice[T]) Label() (name, description string) { return c.name, c.description }

// find returns what a name selects, or an error that names the flag.
func find[T any](flag, name string, rows []choice[T]) (T, error) {
	row, err := cli.Find(flag, name, rows)
	return row.selects, err
}
