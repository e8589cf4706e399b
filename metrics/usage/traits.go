package usage

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"kvlab/metrics"
)

// trait is a property of a machine on which its speed depends and that no setting changes.
type trait struct {
	name string
	path string                                   // of its files below the root, a pattern as in filepath.Match
	read func(root string, paths []string) string // returns the value; nil: fileValues does
}

const (
	processors = "sys/devices/system/cpu/"
	nic        = "sys/class/net/" + nicName
	nicName    = "NIC" // stands for the interface of the data network
)

var traits = []trait{
	{"machine", "sys/class/dmi/id/product_name", nil},
	{"firmware", "sys/class/dmi/id/bios_version", nil},
	{"processors online", processors + "online", nil},
	{"processors isolated", processors + "isolated", nil},
	{"processor limit", "proc/self/cgroup", processorLimit},
	{"turbo off", processors + "intel_pstate/no_turbo", nil},
	{"boost", processors + "cpufreq/boost", nil},
	{"scaling driver", processors + "cpu[0-9]*/cpufreq/scaling_driver", nil},
	{"energy preference", processors + "cpu[0-9]*/cpufreq/energy_performance_preference", nil},
	{"idle driver", processors + "cpuidle/current_driver", nil},
	{"idle governor", processors + "cpuidle/current_governor", nil},
	{"smt", processors + "smt/control", nil},
	{"microcode", "proc/cpuinfo", microcode},
	{"mitigations", processors + "vulnerabilities/*", mitigations},
	{"numa nodes", "sys/devices/system/node/online", nil},
	{"numa balancing", "proc/sys/kernel/numa_balancing", nil},
	{"clocksource", "sys/devices/system/clocksource/clocksource0/current_clocksource", nil},
	{"thp defrag", "sys/kernel/mm/transparent_hugepage/defrag", nil},
	{"ksm", "sys/kernel/mm/ksm/run", nil},
	{"swap", "proc/swaps", swap},
	{"kernel command line", "proc/cmdline", nil},
	{"congestion control", "proc/sys/net/ipv4/tcp_congestion_control", nil},
	{"nic driver", nic + "/device/driver", linkTarget},
	{"nic numa node", nic + "/device/numa_node", nil},
	{"nic rx queues", nic + "/queues/rx-*", count},
	{"nic tx queues", nic + "/queues/tx-*", count},
	{"nic rps", nic + "/queues/rx-*/rps_cpus", nil},
	{"nic xps", nic + "/queues/tx-*/xps_cpus", nil},
	{"nic gro flush timeout", nic + "/gro_flush_timeout", nil},
}

// Traits returns properties of a machine on which its speed depends, by name; root and data are
// those of Settings, which returns the properties that root can set. The value of what the
// machine does not show is metrics.Absent, which does not mean that it is off. Where processors
// or queues differ, their values are sorted, with commas between them.
func Traits(root, data string) map[string]string {
	all := make(map[string]string, len(traits))
	for _, t := range traits {
		paths, _ := filepath.Glob(filepath.Join(root, strings.Replace(t.path, nicName, cmp.Or(data, "-"), 1))) // the pattern is right
		if t.read == nil {
			all[t.name] = fileValues(paths)
		} else {
			all[t.name] = t.read(root, paths)
		}
		if all[t.name] == "" {
			all[t.name] = none(paths)
		}
	}
	return all
}

// none returns the value of files that hold nothing: "none" if one of them can be read.
func none(paths []string) string {
	for _, path := range paths {
		if _, err := os.ReadFile(path); err == nil {
			return "none"
		}
	}
	return metrics.Absent
}

// count returns the number of files.
func count(_ string, paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return strconv.Itoa(len(paths))
}

// linkTarget returns the name of what a symbolic link leads to.
func linkTarget(_ string, paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	name, err := os.Readlink(paths[0])
	if err != nil {
		return ""
	}
	return filepath.Base(name)
}

// microcode returns the version in cpuinfo, which x86 processors have.
func microcode(_ string, paths []string) string {
	for _, line := range lines(paths) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "microcode" {
			return strings.TrimSpace(value)
		}
	}
	return metrics.Absent
}

// mitigations returns the weaknesses of the processors that the kernel knows, each with what the
// kernel does about it. It leaves out those that the processors do not have.
func mitigations(_ string, paths []string) string {
	var all []string
	for _, path := range paths {
		if value, err := fileValue(path); err == nil && value != "Not affected" {
			all = append(all, filepath.Base(path)+": "+value)
		}
	}
	return strings.Join(all, ", ")
}

// swap returns the kind and the size in KiB of each swap area, as in "partition 8388604".
func swap(_ string, paths []string) string {
	var all []string
	for _, line := range lines(paths) {
		if words := strings.Fields(line); len(words) >= 3 && strings.HasPrefix(line, "/") {
			all = append(all, words[1]+" "+words[2])
		}
	}
	return strings.Join(all, ", ")
}

// processorLimit returns this process's limit of processor time; "" for none.
func processorLimit(root string, paths []string) string {
	return QuotaOf(strings.Join(lines(paths), "\n"), filepath.Join(root, "sys")).Limit
}

// lines returns the lines of the first file, without white space around them.
func lines(paths []string) (all []string) {
	if len(paths) == 0 {
		return nil
	}
	text, _ := os.ReadFile(paths[0]) // no lines if it cannot be read
	for line := range strings.Lines(string(text)) {
		all = append(all, strings.TrimSpace(line))
	}
	return all
}
