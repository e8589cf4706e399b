package usage

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/shirou/gopsutil/v3/cpu"
	"golang.org/x/sys/unix"

	"kvlab/metrics"
	"kvlab/metrics/build"
)

// HostFacts describes this machine and this build. Like Sampler it follows
// HOST_PROC. CPUModel is "" on a processor that does not tell its name.
func HostFacts() (facts metrics.Host, err error) {
	name, nameless := os.Hostname()
	proc, err := hostProc()
	if err != nil {
		return facts, err
	}
	memory, err := proc.memory()
	if err != nil {
		return facts, err
	}
	processors, err := cpu.Info() // one for each logical processor; none and no error when it cannot read
	if err != nil {
		return facts, fmt.Errorf("%s/cpuinfo: %w", proc.dir, err)
	}
	if len(processors) == 0 {
		return facts, fmt.Errorf("%s/cpuinfo names no processor", proc.dir)
	}
	var kernel unix.Utsname
	if err := cmp.Or(unix.Uname(&kernel), nameless); err != nil {
		return facts, fmt.Errorf("operating system: %w", err)
	}
	return metrics.Host{
		Hostname:             name,
		CPUModel:             processors[0].ModelName,
		Cores:                len(processors),
		MemoryTotalBytes:     memory.totalBytes,
		MemoryAvailableBytes: memory.availableBytes,
		Kernel:               unix.ByteSliceToString(kernel.Release[:]),
		OS:                   system(),
		GoVersion:            runtime.Version(),
		Version:              build.Version,
		GitCommit:            build.Commit(),
	}, nil
}

// system returns the name of the operating system as os-release(5) has it. gopsutil's reader
// would start a shell script, lsb_release.
func system() string {
	text, _ := os.ReadFile("/etc/os-release")
	for line := range strings.Lines(string(text)) {
		if name, found := strings.CutPrefix(line, "PRETTY_NAME="); found {
			return strings.Trim(strings.TrimSpace(name), `"'`)
		}
	}
	return runtime.GOOS
}
