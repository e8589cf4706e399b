package usage

import (
	"time"

	"golang.org/x/sys/unix"

	"kvlab/metrics"
)

// WindowUsage is what a node used in the measured window.
type WindowUsage struct {
	Table      metrics.Table
	Saturation metrics.Saturation
}

// saturation adds up what makes a Pressure, interval by interval, as window does.
type saturation struct {
	own        map[int]bool // cores that the process may run on
	cores      map[int]cpuTicks
	cpu        time.Duration // of the process
	collecting float64       // see process
	running    float64
	runnable   uint64 // of all readings together
	readings   int
	segments   segments
}

func newSaturation() saturation { return saturation{own: ownCores(), cores: make(map[int]cpuTicks)} }

// ownCores are the cores that this process may run on; nil when the kernel does
// not tell, which is for a machine of more than 1024.
func ownCores() map[int]bool {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil
	}
	own := make(map[int]bool)
	for core := range len(set) * 64 {
		if set.IsSet(core) {
			own[core] = true
		}
	}
	return own
}

// add counts what there was between two readings. The reader of /proc/stat runs
// while it counts those that do.
func (s *saturation) add(now, last reading) {
	for core, ticks := range now.stat.cores {
		if then, ok := last.stat.cores[core]; ok {
			s.cores[core] = s.cores[core].add(ticks.since(then))
		}
	}
	s.cpu += now.process.cpu - last.process.cpu
	s.collecting += now.process.collecting - last.process.collecting
	s.running += now.process.running - last.process.running
	s.runnable += max(now.stat.runnable, 1) - 1
	s.readings++
	s.segments.again += since(now.segments.again, last.segments.again)
	s.segments.first += since(now.segments.first, last.segments.first)
}

// sumSaturation sums the window up.
func (w *window) sumSaturation() metrics.Saturation {
	s := w.saturation
	var own cpuTicks
	p := metrics.Saturation{
		ProcessCPUPercent: 100 * metrics.PerSecond(s.cpu.Seconds(), w.last.at.Sub(w.opened).Seconds()),
		InterruptPercent:  w.cpu.percentOf(w.cpu.interrupts),
		StolenPercent:     w.cpu.percentOf(w.cpu.stolen),
		Runnable:          float64(s.runnable) / float64(max(s.readings, 1)),
		GCPercent:         100 * metrics.PerSecond(s.collecting, s.running),
		Segments:          s.segments.first,
		Retransmits:       s.segments.again,
	}
	for core, ticks := range s.cores {
		p.BusiestCorePercent = max(p.BusiestCorePercent, ticks.percent())
		if s.own[core] {
			own = own.add(ticks)
		}
	}
	p.OwnCoresPercent = own.percent()
	if own == (cpuTicks{}) {
		p.OwnCoresPercent = w.cpu.percent()
	}
	return p
}
