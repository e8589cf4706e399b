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

// workloadRow describes a workload. A new workload is a row of workloads.
type workloadRow struct {
	choice
	reads float64 // the share of reads, 0 to 1; StandardMix for Config.Reads
	write Kind    // of all other operations
}

// workloads are all workloads.
var workloads = []workloadRow{
	{choice{YCSBA, "50 % reads, 50 % updates"}, 0.5, Update},
	{choice{YCSBB, "95 % reads, 5 % updates"}, 0.95, Update},
	{choice{YCSBC, "reads only"}, 1, Update},
	{choice{YCSBF, "50 % reads, 50 % read-modify-writes"}, 0.5, ReadModifyWrite},
	{choice{Mix, "-reads of the operations are reads, the rest updates"}, StandardMix, Update},
}

// mix is the share of reads, and the kind of the other operations.
type mix struct {
	reads     float64 // share of reads, 0 to 1
	write     Kind    // of all other operations
	threshold uint64  // reads in 2^-32; 2^32, for reads only, exceeds a uint32
}

// newMix returns the mix of a valid configuration.
func newMix(c Config) mix {
	w, _ := format.Find("-workload", c.Workload, workloads)
	if w.reads == StandardMix {
		w.reads = c.Reads
	}
	return mix{w.reads, w.write, uint64(math.Round(math.Ldexp(w.reads, 32)))}
}

// kind returns the kind that a random word selects by its upper 32 bits. It masks
// write to 0, the number of Read, because no processor could predict a branch.
func (m mix) kind(word uint64) Kind {
	return m.write &^ Kind(below(word>>32, m.threshold))
}

// below returns all ones if a is below b, and else 0, for numbers below 2^63.
func below(a, b uint64) uint64 { return uint64(int64(a-b) >> 63) }

// share returns the share of operations of kind k.
func (m mix) share(k Kind) float64 {
	switch k {
	case Read:
		return m.reads
	case m.write:
		return 1 - m.reads
	}
	return 0
}
