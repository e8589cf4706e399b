package usage

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"kvlab/metrics"
)

// setting is a setting of a machine with its recommended value.
type setting struct {
	name   string
	path   string // of its files below the root, a pattern as in filepath.Match
	want   string // numbers in the order of the file's, or a word
	bound  bound  // says which other values meet the recommendation
	setter metrics.Setter
	source string
}

type bound int

const (
	exactly bound = iota
	atLeast       // each number
	atMost
)

// The sources of the recommendations.
const (
	antCache    = "Ant-Cache, docs/PERFORMANCE.md"
	embarcadero = "Embarcadero, scripts/tune_kernel_buffers.sh"
	network     = "tuned, network-throughput"
	throughput  = "tuned, throughput-performance"
	redHat      = "Red Hat, Network Performance Tuning Guide"
)

// Governor is the name of the setting whose value is the processors' frequency governors, each
// once, sorted, with commas between them.
const Governor = "governor"

const sysctl = "proc/sys/"

// settings are the settings that files hold. Only the host's own network namespace has those
// that limit how many packets a processor takes from its devices; in any other the largest
// socket buffers are read-only.
var settings = []setting{
	{"net.core.somaxconn", sysctl + "net/core/somaxconn", "65535", atLeast, metrics.SetInNamespace, antCache},
	{"net.ipv4.tcp_max_syn_backlog", sysctl + "net/ipv4/tcp_max_syn_backlog", "65535", atLeast, metrics.SetInNamespace, antCache},
	{"net.ipv4.tcp_rmem", sysctl + "net/ipv4/tcp_rmem", "4096 131072 16777216", atLeast, metrics.SetInNamespace, network},
	{"net.ipv4.tcp_wmem", sysctl + "net/ipv4/tcp_wmem", "4096 16384 16777216", atLeast, metrics.SetInNamespace, network},
	{"net.ipv4.tcp_slow_start_after_idle", sysctl + "net/ipv4/tcp_slow_start_after_idle", "0", exactly, metrics.SetInNamespace, network},
	{"net.ipv4.tcp_notsent_lowat", sysctl + "net/ipv4/tcp_notsent_lowat", "131072", exactly, metrics.SetInNamespace, network},
	{"net.core.rmem_max", sysctl + "net/core/rmem_max", "134217728", atLeast, metrics.SetOnHost, embarcadero},
	{"net.core.wmem_max", sysctl + "net/core/wmem_max", "134217728", atLeast, metrics.SetOnHost, embarcadero},
	{"net.core.netdev_max_backlog", sysctl + "net/core/netdev_max_backlog", "5000", atLeast, metrics.SetOnHost, antCache},
	{"net.core.netdev_budget", sysctl + "net/core/netdev_budget", "600", atLeast, metrics.SetOnHost, redHat},
	{"vm.swappiness", sysctl + "vm/swappiness", "10", atMost, metrics.SetOnHost, throughput},
	{"vm.overcommit_memory", sysctl + "vm/overcommit_memory", "1", exactly, metrics.SetOnHost, antCache},
	{"thp", "sys/kernel/mm/transparent_hugepage/enabled", "always", exactly, metrics.SetOnHost, throughput},
	{Governor, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor", "performance", exactly, metrics.SetOnHost, throughput},
}

// Settings returns the settings that decide how fast a machine is, with their values and the
// recommended ones. It sets none. The files of the machine, or of the part of it that a
// container or a network namespace shows, lie below a root folder: "/" is this machine. data
// is the name of the data network's interface, whose ring buffers are a setting; "" for none.
func Settings(root, data string) (all []metrics.HostSetting) {
	for _, r := range settings {
		s := metrics.HostSetting{Name: r.name, Source: r.source, Setter: r.setter}
		paths, _ := filepath.Glob(filepath.Join(root, r.path)) // the pattern is right
		s.Value = fileValues(paths)
		switch {
		case s.Value == "":
			s.Setter = metrics.SetAbsent
		case readOnly(paths[0]):
			s.Setter = metrics.SetByNobody
		}
		if s.Value != "" {
			s.Want = r.bound.apply(s.Value, r.want)
		}
		all = append(all, s)
	}
	return append(all, ringSetting(data), descriptors())
}

// ringSetting returns the setting of an interface's ring buffers. The largest possible ones are
// recommended.
func ringSetting(data string) metrics.HostSetting {
	s := metrics.HostSetting{Name: "rings", Source: redHat, Setter: metrics.SetAbsent}
	if now, most, err := rings(data); err == nil {
		s.Name += " " + data
		s.Value, s.Want, s.Setter = now.String(), most.String(), metrics.SetInNamespace
	}
	return s
}

// fileValues returns the different values of files, sorted and separated by commas; "" if
// there are none.
func fileValues(paths []string) string {
	var all []string
	for _, path := range paths {
		if value, err := fileValue(path); err == nil {
			all = append(all, value)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ",")
}

// apply returns the value that meets the recommendation and is nearest to the present one.
func (b bound) apply(now, want string) string {
	have, least := strings.Fields(now), strings.Fields(want)
	if b == exactly || len(have) != len(least) {
		return want
	}
	for i, word := range have {
		n, err := strconv.ParseUint(word, 10, 64)
		m, _ := strconv.ParseUint(least[i], 10, 64)
		if err == nil && (b == atLeast && n > m || b == atMost && n < m) {
			least[i] = word
		}
	}
	return strings.Join(least, " ")
}

// readOnly reports whether even root cannot write a file.
func readOnly(path string) bool {
	info, err := os.Stat(path)
	return err != nil || info.Mode().Perm()&0o200 == 0 || errors.Is(unix.Access(path, unix.W_OK), unix.EROFS)
}

// fileValue returns the value that a file holds: words separated by single spaces, or the word
// in brackets, if there is one.
func fileValue(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	words := strings.Fields(string(text))
	for _, word := range words {
		if strings.HasPrefix(word, "[") {
			return strings.Trim(word, "[]"), nil
		}
	}
	return strings.Join(words, " "), nil
}

// leastDescriptors is the recommended limit of a process's open files.
const leastDescriptors = 65536

// descriptors returns the setting that limits this process's open files, the hard limit.
func descriptors() metrics.HostSetting {
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) // fails for an unknown limit only
	return metrics.HostSetting{
		Name: "descriptors", Value: strconv.FormatUint(limit.Max, 10), Want: strconv.FormatUint(max(limit.Max, leastDescriptors), 10),
		Source: antCache, Setter: metrics.SetByProcess,
	}
}

// RaiseDescriptors raises this process's limit of open files to the recommended one. Only root
// can raise a hard limit that is below it.
func RaiseDescriptors() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil && limit.Max < leastDescriptors {
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: leastDescriptors, Max: leastDescriptors})
	}
}
