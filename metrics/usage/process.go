package usage

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"kvlab/metrics"
)

// process is what the own process has used since it started.
type process struct {
	cpu        time.Duration
	rssBytes   uint64
	goroutines int
	openFiles  int
	gcCycles   int64
	gcPause    time.Duration
	heap       heap
	collecting float64 // seconds of processors, by the runtime's own account, without idle ones that help
	running    float64 // likewise, in which goroutines ran or garbage was collected
}

// process reads the own process's state without stopping the world, which
// runtime.ReadMemStats would do.
func (fs procFS) process() (process, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return process{}, fmt.Errorf("getrusage: %w", err)
	}
	rss, err := residentBytes(fs.dir)
	if err != nil {
		return process{}, err
	}
	open, err := fs.self.FileDescriptorsLen()
	if err != nil {
		return process{}, err
	}
	p := process{
		cpu:        time.Duration(used.Utime.Nano() + used.Stime.Nano()),
		rssBytes:   rss,
		goroutines: runtime.NumGoroutine(),
		openFiles:  open,
	}
	err = p.askRuntime()
	return p, err
}

// askRuntime fills in what the Go runtime says of its heap and collector.
func (p *process) askRuntime() error {
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	p.gcCycles, p.gcPause = gc.NumGC, gc.PauseTotal
	values, err := readRuntime("/memory/classes/heap/objects:bytes", "/gc/heap/live:bytes", "/memory/classes/heap/unused:bytes", "/memory/classes/heap/free:bytes",
		"/cpu/classes/gc/total:cpu-seconds", "/cpu/classes/gc/mark/idle:cpu-seconds", "/cpu/classes/total:cpu-seconds", "/cpu/classes/idle:cpu-seconds")
	if err != nil {
		return err
	}
	p.heap = heap{uint64(values[0]), uint64(values[1]), uint64(values[2]), uint64(values[3])}
	collecting, helping, total, idle := values[4], values[5], values[6], values[7]
	p.collecting, p.running = collecting-helping, total-idle-helping
	return nil
}

// ResidentBytes is the resident set of the own process: the second field of
// /proc/self/statm, in pages (proc_pid_statm(5)). procfs panics on a short line.
func ResidentBytes() (uint64, error) { return residentBytes(procfs.DefaultMountPoint) }

func residentBytes(proc string) (uint64, error) {
	path := proc + "/self/statm"
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("%s: %d fields, want 7", path, len(fields))
	}
	pages, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: resident is %q, want an unsigned number", path, fields[1])
	}
	return pages * uint64(os.Getpagesize()), nil
}

// usage is the process's use from before to p, an interval of the given length.
func (p process) usage(before process, seconds float64) metrics.ProcessUsage {
	return metrics.ProcessUsage{
		CPUPercent: 100 * metrics.PerSecond((p.cpu-before.cpu).Seconds(), seconds),
		RSSBytes:   p.rssBytes,
		Goroutines: p.goroutines,
		OpenFiles:  p.openFiles,
		GCCycles:   uint32(p.gcCycles - before.gcCycles),
		GCPauseS:   (p.gcPause - before.gcPause).Seconds(),
		HeapBytes:  p.heap.objects,
		LiveBytes:  p.heap.live,
		HeldBytes:  p.rssBytes - min(p.rssBytes, p.heap.spare()),
	}
}
