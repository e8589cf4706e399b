package usage

import (
	"fmt"
	"math"

	"github.com/prometheus/procfs"
)

// cpuTicks are the times that one core, or all together, has spent since boot,
// in clock ticks.
type cpuTicks struct {
	busy, idle uint64
	interrupts uint64 // the part of busy that the kernel took, for devices and the network of any process
	stolen     uint64 // the part of busy that another guest took
}

// stat holds the fields read from /proc/stat (proc_stat(5);
// https://docs.kernel.org/filesystems/proc.html section 1.7).
type stat struct {
	all             cpuTicks
	cores           map[int]cpuTicks // by core number; cores that are offline have no line
	contextSwitches uint64
	runnable        uint64 // tasks that run or wait for a core, the reader among them
}

func (fs procFS) stat() (stat, error) {
	from, err := fs.Stat()
	s := stat{all: ticksOf(from.CPUTotal), cores: make(map[int]cpuTicks), contextSwitches: from.ContextSwitches, runnable: from.ProcessesRunning}
	for core, times := range from.CPU {
		s.cores[int(core)] = ticksOf(times)
	}
	switch {
	case err != nil:
		return stat{}, fmt.Errorf("%s/stat: %w", fs.dir, err)
	case s.all == cpuTicks{} || len(s.cores) == 0 || s.contextSwitches == 0 || s.runnable == 0:
		return stat{}, fmt.Errorf("%s/stat: no cpu, cpu0, ctxt or procs_running", fs.dir)
	}
	return s, nil
}

// ticksOf counts waiting for I/O as idle time. Stolen time is busy: the core had
// work, another guest of the hypervisor had the core. The two guest times are
// already part of user and nice.
func ticksOf(c procfs.CPUStat) cpuTicks {
	const ticksPerSecond = 100 // USER_HZ, by which procfs has divided
	ticks := func(seconds ...float64) (sum uint64) {
		for _, s := range seconds {
			sum += uint64(math.Round(ticksPerSecond * s))
		}
		return sum
	}
	return cpuTicks{
		busy:       ticks(c.User, c.Nice, c.System, c.IRQ, c.SoftIRQ, c.Steal),
		idle:       ticks(c.Idle, c.Iowait),
		interrupts: ticks(c.IRQ, c.SoftIRQ),
		stolen:     ticks(c.Steal),
	}
}

// since returns the time spent from before to t. The kernel document warns that
// iowait may decrease.
func (t cpuTicks) since(before cpuTicks) cpuTicks {
	return cpuTicks{
		busy: since(t.busy, before.busy), idle: since(t.idle, before.idle),
		interrupts: since(t.interrupts, before.interrupts), stolen: since(t.stolen, before.stolen),
	}
}

// busyPercent returns the busy share of the time from before to t, 0 to 100.
func (t cpuTicks) busyPercent(before cpuTicks) float64 {
	d := t.since(before)
	return d.percentOf(d.busy)
}

// percentOf returns the share of a part of the busy time in all time, 0 to 100; 0 when less
// than a tick has passed.
func (t cpuTicks) percentOf(part uint64) float64 {
	if part == 0 {
		return 0
	}
	return 100 * float64(part) / (float64(t.busy) + float64(t.idle))
}
