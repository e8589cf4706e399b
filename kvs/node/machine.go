package node

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"kvlab/metrics"
	"kvlab/metrics/usage"
)

// machine is where a machine's facts are read: real, or a test's fixtures.
type machine struct {
	proc        string // /proc
	sys         string // /sys
	controlFile string
}

// controlFile is where Emulab and CloudLab nodes keep their control interface's
// name (Emulab knowledge base, entry 88).
const controlFile = "/var/emulab/boot/controlif"

var thisMachine = machine{proc: "/proc", sys: "/sys", controlFile: controlFile}

// facts is what the machine is, without the question's ports.
func (m machine) facts(q Question) (metrics.Facts, error) {
	host, err := usage.HostFacts()
	if err != nil {
		return metrics.Facts{}, err
	}
	program, err := os.Executable()
	if err != nil {
		return metrics.Facts{}, fmt.Errorf("find this program: %w", err)
	}
	f := metrics.Facts{Host: host, User: userName(os.Getuid()), Governors: m.governors()}
	if f.Architecture, err = architecture(); err != nil {
		return f, err
	}
	if f.Data, err = m.linkOf(q.Data); err != nil {
		return f, err
	}
	if f.Control, f.ControlGuessed, err = m.control(); err != nil {
		return f, err
	}
	if f.OpenFilesLimit, err = openFilesLimit(); err != nil {
		return f, err
	}
	f.Folder = programFolder(program)
	if f.FileSystem, f.FreeBytes, err = Disk(f.Folder); err != nil {
		return f, err
	}
	f.Processes = m.programs(f.Folder)
	return f, nil
}

// architecture is what `uname -m` prints.
func architecture() (string, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "", fmt.Errorf("uname: %w", err)
	}
	return cmp.Or(unix.ByteSliceToString(name.Machine[:]), runtime.GOARCH), nil
}

// openFilesLimit is the limit that this process could raise its own to.
func openFilesLimit() (uint64, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("limit of open files: %w", err)
	}
	return limit.Max, nil
}

// governors are the frequency governors of the cores, each once, sorted
// (https://docs.kernel.org/admin-guide/pm/cpufreq.html, scaling_governor).
func (m machine) governors() []string {
	files, err := filepath.Glob(filepath.Join(m.sys, "devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
	if err != nil { // only for a bad pattern
		return nil
	}
	var names []string
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			names = append(names, strings.TrimSpace(string(text)))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// deployed begins the name of the folder that the launcher copies programs to,
// each into a folder of its own.
const deployed = "kvlab-"

// programFolder is the folder that holds all of kvlab's programs of this kind:
// that of the launcher's copies, or the program's own.
func programFolder(program string) string {
	folder := filepath.Dir(program)
	if parent := filepath.Dir(folder); strings.HasPrefix(filepath.Base(parent), deployed) {
		return parent
	}
	return folder
}

// userName is the name of the user with a number, or the number.
func userName(uid int) string {
	number := strconv.Itoa(uid)
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return number
}
