package usage

import (
	"fmt"
	"runtime"
	"runtime/debug"
	gometrics "runtime/metrics"
	"syscall"
	"time"

	"kvlab/metrics"
)

// process is the state of the sampled process.
type process struct {
	now        metrics.ProcessUsage // without the fields that are a difference of two states
	cpu        time.Duration
	gcCycles   int64
	gcPause    time.Duration
	collecting float64 // processor seconds of garbage collection, without idle processors' seconds
	running    float64 // processor seconds in which goroutines ran or garbage was collected, likewise
}

// process reads the state of this process without stopping the world, which
// runtime.ReadMemStats would do; or of the process that fs follows.
func (fs procFS) process() (p process, err error) {
	if fs.other != nil {
		return fs.other.state()
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return p, fmt.Errorf("getrusage: %w", err)
	}
	p.cpu = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	if p.now.RSSBytes, err = fs.residentBytes(); err != nil {
		return p, err
	}
	if p.now.OpenFiles, err = fs.self.FileDescriptorsLen(); err != nil {
		return p, err
	}
	p.now.Goroutines = runtime.NumGoroutine()
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	p.gcCycles, p.gcPause = gc.NumGC, gc.PauseTotal
	p.readRuntime()
	return p, nil
}

// readRuntime fills in the Go runtime's account of its heap and its collector (package
// runtime/metrics).
func (p *process) readRuntime() {
	samples := []gometrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
		{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"},
	}
	gometrics.Read(samples)
	bytes := func(i int) uint64 { return samples[i].Value.Uint64() }
	seconds := func(i int) float64 { return samples[i].Value.Float64() }
	p.now.HeapBytes, p.now.LiveBytes = bytes(0), bytes(1)
	p.now.HeldBytes = heldBytes(p.now, bytes(2)+bytes(3))
	p.collecting, p.running = seconds(4)-seconds(5), seconds(6)-seconds(7)-seconds(5)
}

// heldBytes returns the resident memory without what comes and goes in the collector's
// rhythm: dead objects, and spare bytes that the heap keeps for new ones.
func heldBytes(p metrics.ProcessUsage, spare uint64) uint64 {
	return since(p.RSSBytes, since(p.HeapBytes, p.LiveBytes)+spare)
}

// ResidentBytes returns the size of this process's resident set.
func ResidentBytes() (uint64, error) {
	fs, err := hostProc()
	if err != nil {
		return 0, err
	}
	return fs.residentBytes()
}

func (fs procFS) residentBytes() (uint64, error) {
	status, err := fs.self.NewStatus()
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s/self/status: %w", fs.dir, err)
	case status.VmRSS == 0:
		return 0, fmt.Errorf("%s/self/status: no VmRSS", fs.dir)
	}
	return status.VmRSS, nil
}

// usage returns the process's use from before to p, an interval of the given length.
func (p process) usage(before process, seconds float64) metrics.ProcessUsage {
	u := p.now
	u.CPUPercent = 100 * metrics.PerSecond((p.cpu-before.cpu).Seconds(), seconds)
	u.GCCycles = uint32(p.gcCycles - before.gcCycles)
	u.GCPauseS = (p.gcPause - before.gcPause).Seconds()
	return u
}
