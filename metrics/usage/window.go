package usage

import (
	"slices"

	"golang.org/x/sys/unix"

	"kvlab/metrics"
)

// window accumulates levels and peaks, which the difference of its first and last reading
// does not tell.
type window struct {
	first, last reading
	memoryByteS float64       // integral of the memory used
	runnable    uint64        // sum over the readings after the first
	readings    int           // after the first
	rssBytes    uint64        // of the process, the largest
	ownCores    unix.CPUSet   // that the process may run on; empty when the kernel does not tell
	peaks       metrics.Table // highest samples inside
	quota       Quota
	periods     periods // of the quota, before the window
}

func newWindow(now reading) *window {
	w := &window{first: now, last: now, rssBytes: now.process.now.RSSBytes}
	w.peaks.MemoryBytes.Peak = float64(now.memory.usedBytes())
	_ = unix.SchedGetaffinity(0, &w.ownCores) // fails on a machine of more than 1024 cores
	return w
}

// add takes a reading. Memory is a level: its average weighs every reading by the time
// around it. The reader of /proc/stat is runnable while it reads.
func (w *window) add(now reading) {
	before, after := float64(w.last.memory.usedBytes()), float64(now.memory.usedBytes())
	w.memoryByteS += (before + after) / 2 * now.at.Sub(w.last.at).Seconds()
	w.peaks.MemoryBytes.Peak = max(w.peaks.MemoryBytes.Peak, after)
	w.runnable += now.stat.runnable - 1
	w.readings++
	w.rssBytes = max(w.rssBytes, now.process.now.RSSBytes)
	w.last = now
}

// raise raises the peaks to a usage.
func (w *window) raise(u metrics.Usage) {
	data, _ := u.Data()
	w.peaks.CPUPercent.Peak = max(w.peaks.CPUPercent.Peak, u.CPUPercent)
	w.peaks.RxBytesPerS.Peak = max(w.peaks.RxBytesPerS.Peak, data.RxBytesPerS)
	w.peaks.TxBytesPerS.Peak = max(w.peaks.TxBytesPerS.Peak, data.TxBytesPerS)
}

// usage returns what was used from the first reading to the last.
func (w *window) usage(dataInterface string) (metrics.Table, metrics.Saturation) {
	u := w.last.usage(w.first)
	u.DataInterface = dataInterface
	w.raise(u) // of a window shorter than two samples
	data, _ := u.Data()
	t := w.peaks
	t.DataInterface = dataInterface
	t.CPUPercent.Avg = u.CPUPercent
	t.MemoryBytes.Avg = metrics.PerSecond(w.memoryByteS, u.LengthS)
	t.RxBytesPerS.Avg, t.TxBytesPerS.Avg = data.RxBytesPerS, data.TxBytesPerS
	return t, w.saturation(u)
}

func (w *window) saturation(u metrics.Usage) metrics.Saturation {
	all := w.last.stat.all.since(w.first.stat.all)
	var own cpuTicks
	for core, ticks := range w.last.stat.cores {
		if then, ok := w.first.stat.cores[core]; ok && w.ownCores.IsSet(core) {
			ticks = ticks.since(then)
			own.busy, own.idle = own.busy+ticks.busy, own.idle+ticks.idle
		}
	}
	if own == (cpuTicks{}) {
		own = all
	}
	from, to := w.first.process, w.last.process
	return metrics.Saturation{
		Start:              w.first.at,
		LengthS:            u.LengthS,
		ProcessCPUPercent:  u.Process.CPUPercent,
		OwnCoresPercent:    own.percentOf(own.busy),
		ThrottledPercent:   w.quota.periods().throttledPercent(w.periods),
		BusiestCorePercent: slices.Max(append(u.CorePercent, 0)),
		InterruptPercent:   all.percentOf(all.interrupts),
		StolenPercent:      all.percentOf(all.stolen),
		Runnable:           float64(w.runnable) / float64(w.readings),
		GCPercent:          100 * metrics.PerSecond(to.collecting-from.collecting, to.running-from.running),
		ProcessRSSBytes:    w.rssBytes,
		OpeningRSSBytes:    from.now.RSSBytes,
		Segments:           since(w.last.segments.first, w.first.segments.first),
		Retransmits:        u.TCPRetransmits,
	}
}
