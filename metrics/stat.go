package metrics

import (
	"strconv"
	"strings"
)

// cpuTicks are the times that one core, or all together, has spent since boot,
// in clock ticks.
type cpuTicks struct {
	busy, idle uint64
	interrupts uint64 // of busy: the kernel's, for devices and the network, whoever they are for
	stolen     uint64 // of busy: another guest's
}

// stat is what is used of /proc/stat (proc_stat(5);
// https://docs.kernel.org/filesystems/proc.html section 1.7).
type stat struct {
	all             cpuTicks
	cores           map[int]cpuTicks // by core number; cores that are offline have no line
	contextSwitches uint64
	runnable        uint64 // tasks that run or wait for a core, the reader among them
}

func (fs procFS) stat() (stat, error) {
	f, err := fs.open("stat")
	if err != nil {
		return stat{}, err
	}
	return parseStat(f)
}

func parseStat(f procFile) (stat, error) {
	s := stat{cores: make(map[int]cpuTicks)}
	var hasAll, hasSwitches, hasRunnable bool
	for i, line := range f.lines {
		name, rest, _ := strings.Cut(line, " ")
		var err error
		switch {
		case name == "cpu":
			hasAll = true
			s.all, err = f.ticks(i, name, rest)
		case strings.HasPrefix(name, "cpu"):
			err = s.addCore(f, i, name, rest)
		case name == "ctxt":
			hasSwitches = true
			s.contextSwitches, err = f.uint(i, name, rest)
		case name == "procs_running":
			hasRunnable = true
			s.runnable, err = f.uint(i, name, rest)
		}
		if err != nil {
			return stat{}, err
		}
	}
	switch {
	case !hasAll:
		return stat{}, f.missing("cpu")
	case len(s.cores) == 0:
		return stat{}, f.missing("cpu0")
	case !hasSwitches:
		return stat{}, f.missing("ctxt")
	case !hasRunnable:
		return stat{}, f.missing("procs_running")
	}
	return s, nil
}

func (s *stat) addCore(f procFile, i int, name, rest string) error {
	core, err := strconv.Atoi(name[len("cpu"):])
	if err != nil || core < 0 {
		return f.errorf(i, "core name %q, want cpu and a number", name)
	}
	if _, twice := s.cores[core]; twice {
		return f.errorf(i, "second line for %s", name)
	}
	s.cores[core], err = f.ticks(i, name, rest)
	return err
}

// ticks reads the times after a cpu line's name: user nice system idle iowait
// irq softirq steal guest guest_nice. Waiting for I/O is idle time. Stolen time
// is busy: the core had work, another guest of the hypervisor had the core. The
// two guest times are already part of user and nice.
func (f procFile) ticks(i int, name, rest string) (cpuTicks, error) {
	names := [...]string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"}
	fields := strings.Fields(rest)
	if len(fields) < len(names) {
		return cpuTicks{}, f.errorf(i, "%s has %d times, want at least %d", name, len(fields), len(names))
	}
	var t cpuTicks
	for k, what := range names {
		n, err := f.uint(i, name+" "+what, fields[k])
		if err != nil {
			return cpuTicks{}, err
		}
		switch what {
		case "idle", "iowait":
			t.idle += n
			continue
		case "irq", "softirq":
			t.interrupts += n
		case "steal":
			t.stolen += n
		}
		t.busy += n
	}
	return t, nil
}

// since is the time spent from before to t. The kernel document warns that
// iowait may decrease.
func (t cpuTicks) since(before cpuTicks) cpuTicks {
	return cpuTicks{
		busy: since(t.busy, before.busy), idle: since(t.idle, before.idle),
		interrupts: since(t.interrupts, before.interrupts), stolen: since(t.stolen, before.stolen),
	}
}

// add returns the sum of t and more.
func (t cpuTicks) add(more cpuTicks) cpuTicks {
	return cpuTicks{t.busy + more.busy, t.idle + more.idle, t.interrupts + more.interrupts, t.stolen + more.stolen}
}

// percent is the busy share, 0 to 100; 0 when less than a tick has passed.
func (t cpuTicks) percent() float64 { return t.percentOf(t.busy) }

// percentOf is what a part of the busy time is of all, 0 to 100.
func (t cpuTicks) percentOf(part uint64) float64 {
	if part == 0 {
		return 0
	}
	return 100 * float64(part) / (float64(t.busy) + float64(t.idle))
}
