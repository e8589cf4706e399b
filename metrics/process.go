package metrics

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	gometrics "runtime/metrics"
	"strings"
	"syscall"
	"time"
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
	rss, err := fs.residentBytes()
	if err != nil {
		return process{}, err
	}
	open, err := fs.openFiles()
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
	var err error
	if p.heap, err = readHeap(); err != nil {
		return err
	}
	samples := []gometrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
		{Name: "/cpu/classes/total:cpu-seconds"},
		{Name: "/cpu/classes/idle:cpu-seconds"},
	}
	gometrics.Read(samples)
	var seconds [4]float64
	for i, sample := range samples {
		if sample.Value.Kind() != gometrics.KindFloat64 {
			return fmt.Errorf("runtime metric %s is not supported by %s", sample.Name, runtime.Version())
		}
		seconds[i] = sample.Value.Float64()
	}
	helping := seconds[1]
	p.collecting = seconds[0] - helping
	p.running = seconds[2] - seconds[3] - helping
	return nil
}

// residentBytes is the resident set of the own process: the second field of
// /proc/self/statm, in pages (proc_pid_statm(5)).
func (fs procFS) residentBytes() (uint64, error) {
	f, err := fs.open("self/statm")
	if err != nil {
		return 0, err
	}
	return parseResident(f, uint64(os.Getpagesize()))
}

// openFiles is how many descriptors the own process has open, without the one
// that they are counted with: the entries of /proc/self/fd (proc_pid_fd(5); that
// its size is their number is so from Linux 6.2 on only).
func (fs procFS) openFiles() (int, error) {
	dir, err := os.Open(filepath.Join(string(fs), "self/fd"))
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	const atATime = 256 // a server of many connections has as many entries
	for count := -1; ; {
		names, err := dir.Readdirnames(atATime)
		count += len(names)
		if err == io.EOF {
			return count, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

func parseResident(f procFile, pageBytes uint64) (uint64, error) {
	const want = 7
	fields := strings.Fields(f.lines[0])
	if len(fields) != want {
		return 0, f.errorf(0, "%d fields, want %d", len(fields), want)
	}
	pages, err := f.uint(0, "resident", fields[1])
	if err == nil && pages > 1<<53/pageBytes {
		return 0, f.errorf(0, "resident set of %d pages is no machine's memory", pages)
	}
	return pages * pageBytes, err
}

// usage is the process's use from before to p, an interval of the given length.
func (p process) usage(before process, seconds float64) ProcessUsage {
	return ProcessUsage{
		CPUPercent: 100 * perSecond((p.cpu-before.cpu).Seconds(), seconds),
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
