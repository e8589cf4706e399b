package usage

import (
	"time"

	"kvlab/metrics"
)

// window sums up what was used between its opening and its closing. It adds the
// difference of each two successive readings: as long as no counter is reset
// that is exactly the last reading less the first, and a reset costs one
// interval instead of the whole window.
type window struct {
	opened      time.Time
	last        reading
	cpu         cpuTicks
	memoryByteS float64 // integral of the memory used
	rxBytes     float64
	txBytes     float64
	peakCPU     float64 // highest percent of a sample inside
	peakMemory  float64
	peakRxPerS  float64
	peakTxPerS  float64
	saturation  saturation
}

func newWindow(now reading) *window {
	return &window{opened: now.at, last: now, peakMemory: float64(now.memory.usedBytes()), saturation: newSaturation()}
}

// add counts what was used since the last reading. Memory is a level, not a
// counter: its average weighs every reading by the time around it.
func (w *window) add(now reading, dataInterface string) {
	seconds := now.at.Sub(w.last.at).Seconds()
	w.cpu = w.cpu.add(now.stat.all.since(w.last.stat.all))
	w.saturation.add(now, w.last)
	before, after := float64(w.last.memory.usedBytes()), float64(now.memory.usedBytes())
	w.memoryByteS += (before + after) / 2 * seconds
	w.peakMemory = max(w.peakMemory, after)
	then, _ := w.last.link(dataInterface)
	data, _ := now.link(dataInterface)
	w.rxBytes += float64(since(data.rxBytes, then.rxBytes))
	w.txBytes += float64(since(data.txBytes, then.txBytes))
	w.last = now
}

// addPeak considers a sample that began at start.
func (w *window) addPeak(start time.Time, u metrics.Usage) {
	if start.Before(w.opened) {
		return
	}
	data, _ := u.Data()
	w.peakCPU = max(w.peakCPU, u.CPUPercent)
	w.peakRxPerS = max(w.peakRxPerS, data.RxBytesPerS)
	w.peakTxPerS = max(w.peakTxPerS, data.TxBytesPerS)
}

func (w *window) table(dataInterface string) metrics.Table {
	seconds := w.last.at.Sub(w.opened).Seconds()
	avgPeak := func(avg, peak float64) metrics.AvgPeak { return metrics.AvgPeak{Avg: avg, Peak: max(avg, peak)} }
	return metrics.Table{
		DataInterface: dataInterface,
		CPUPercent:    avgPeak(w.cpu.percent(), w.peakCPU),
		MemoryBytes:   avgPeak(metrics.PerSecond(w.memoryByteS, seconds), w.peakMemory),
		RxBytesPerS:   avgPeak(metrics.PerSecond(w.rxBytes, seconds), w.peakRxPerS),
		TxBytesPerS:   avgPeak(metrics.PerSecond(w.txBytes, seconds), w.peakTxPerS),
	}
}
