package workload

import (
	"math"

	"kvlab/metrics/format"
)

// The workloads. The first four are the core workloads of YCSB ("Benchmarking
// Cloud Serving Systems with YCSB", SoCC 2010) that insert nothing.
const (
	YCSBA = "YCSB-A"
	YCSBB = "YCSB-B"
	YCSBC = "YCSB-C"
	YCSBF = "YCSB-F"
	Mix   = "mix"
)

// workloads are all values of Config.Workload. A new workload is a row.
var workloads = []choice[mix]{
	{YCSBA, "50 % reads, 50 % updates", mix{reads: 0.5, write: Update}},
	{YCSBB, "95 % reads, 5 % updates", mix{reads: 0.95, write: Update}},
	{YCSBC, "reads only", mix{reads: 1, write: Update}},
	{YCSBF, "50 % reads, 50 % read-modify-writes", mix{reads: 0.5, write: ReadModifyWrite}},
	{Mix, "-reads of the operations are reads, the rest updates", mix{reads: StandardMix, write: Update}},
}

// mix is the share of reads, and the kind of the other operations.
type mix struct {
	reads     float64 // share of reads, 0 to 1; in workloads also StandardMix, for Config.Reads
	write     Kind    // of all other operations
	threshold uint64  // reads in 2^-32; 2^32, for reads only, exceeds a uint32
}

// newMix returns the mix of a configuration.
func newMix(c Config) (mix, error) {
	m, err := find("-workload", c.Workload, workloads)
	switch {
	case err != nil:
		return m, err
	case m.reads == StandardMix:
		m.reads = c.Reads
		err = format.Want(isShare(c.Reads), "-reads", c.Reads, "a share of reads from 0 to 1 with -workload %s, such as 0.7", Mix)
	default:
		err = format.Want(c.Reads == StandardMix, "-reads", c.Reads, "it only with -workload %s; %s has a fixed mix", Mix, c.Workload)
	}
	m.threshold = uint64(math.Round(math.Ldexp(m.reads, 32)))
	return m, err
}

// kind returns the kind that a random word selects by its upper 32 bits. It masks
// write to 0, the number of Read, because no processor could predict a branch.
func (m mix) kind(word uint64) Kind {
	return m.write &^ Kind(below(word>>32, m.threshold))
}

// below returns all ones if a is below b, and else 0, for numbers below 2^63.
func below(a, b uint64) uint64 { return uint64(int64(a-b) >> 63) }
