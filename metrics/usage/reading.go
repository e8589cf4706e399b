package usage

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/procfs"

	"kvlab/metrics"
)

// reading is the state of all counters at one moment. Usage is the difference of two
// readings.
type reading struct {
	at       time.Time // with its monotonic part
	stat     stat
	memory   memory
	links    procfs.NetDev // by name
	segments segments
	process  process
}

func (fs procFS) read() (reading, error) {
	r := reading{at: time.Now()}
	var errs [5]error
	r.process, errs[0] = fs.process()
	r.stat, errs[1] = fs.stat()
	r.links, errs[2] = fs.links()
	r.segments, errs[3] = fs.segments()
	r.memory, errs[4] = fs.memory()
	return r, cmp.Or(errs[:]...)
}

// usage returns what was used from the reading before to r. It leaves out cores and
// interfaces that came or went in between: they have no difference to take.
func (r reading) usage(before reading) metrics.Usage {
	seconds := r.at.Sub(before.at).Seconds()
	u := metrics.Usage{
		LengthS:             seconds,
		CPUPercent:          r.stat.all.busyPercent(before.stat.all),
		MemoryUsedBytes:     r.memory.usedBytes(),
		MemoryTotalBytes:    r.memory.totalBytes,
		TCPRetransmits:      since(r.segments.again, before.segments.again),
		ContextSwitchesPerS: metrics.PerSecond(float64(since(r.stat.contextSwitches, before.stat.contextSwitches)), seconds),
		Process:             r.process.usage(before.process, seconds),
	}
	for _, core := range slices.Sorted(maps.Keys(r.stat.cores)) {
		if then, ok := before.stat.cores[core]; ok {
			u.CorePercent = append(u.CorePercent, r.stat.cores[core].busyPercent(then))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.links)) {
		if then, ok := before.links[name]; ok {
			u.Interfaces = append(u.Interfaces, linkUsage(r.links[name], then, seconds))
		}
	}
	return u
}

func linkUsage(l, before procfs.NetDevLine, seconds float64) metrics.InterfaceUsage {
	return metrics.InterfaceUsage{
		Name:          l.Name,
		RxBytesPerS:   metrics.PerSecond(float64(since(l.RxBytes, before.RxBytes)), seconds),
		TxBytesPerS:   metrics.PerSecond(float64(since(l.TxBytes, before.TxBytes)), seconds),
		RxPacketsPerS: metrics.PerSecond(float64(since(l.RxPackets, before.RxPackets)), seconds),
		TxPacketsPerS: metrics.PerSecond(float64(since(l.TxPackets, before.TxPackets)), seconds),
	}
}
