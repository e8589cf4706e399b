package usage

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/host"

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
	kernel, err := host.KernelVersion()
	system, _, version, unknown := host.PlatformInformation()
	if err := cmp.Or(err, nameless, unknown); err != nil {
		return facts, fmt.Errorf("operating system: %w", err)
	}
	return metrics.Host{
		Hostname:             name,
		CPUModel:             processors[0].ModelName,
		Cores:                len(processors),
		MemoryTotalBytes:     memory.totalBytes,
		MemoryAvailableBytes: memory.availableBytes,
		Kernel:               kernel,
		OS:                   cmp.Or(strings.TrimSpace(system+" "+version), runtime.GOOS),
		GoVersion:            runtime.Version(),
		GitCommit:            build.Commit(),
	}, nil
}
