package cgroup

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// Limit is what a controller is to keep a cgroup to.
type Limit struct {
	Controller string // memory, pids or cpuset
	Value      string // bytes, processes and threads, or processors as in cpuset(7)
}

// files are the files that hold a limit, in the order in which they are written. Those in
// the second list may be missing: they keep a group from going beyond its memory to swap.
var files = map[string]map[bool][2][]string{
	"memory": {false: {{"memory.limit_in_bytes"}, {"memory.memsw.limit_in_bytes"}}, true: {{"memory.max"}, {"memory.swap.max"}}},
	"pids":   {false: {{"pids.max"}}, true: {{"pids.max"}}},
	"cpuset": {false: {{"cpuset.cpus"}}, true: {{"cpuset.cpus"}}},
}

// Limited makes a cgroup that keeps its processes to a limit, and returns its folder. It
// is a child of this process's own, whose limits hold too; in version 2, where a group
// with processes has no children, a sibling.
func (l Limit) Limited(name string) (folder string, err error) {
	c, err := Find(l.Controller)
	if err != nil {
		return "", err
	}
	self, err := procfs.Self()
	if err != nil {
		return "", err
	}
	groups, err := self.Cgroups()
	if err != nil {
		return "", err
	}
	above, err := c.parent(groups)
	if err != nil {
		return "", err
	}
	folder = filepath.Join(above, name)
	if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { // version 2: another controller's
		return "", err
	}
	return folder, c.set(folder, l)
}

// parent returns the cgroup in which a process in groups may make one.
func (c Controller) parent(groups []procfs.Cgroup) (string, error) {
	own, err := c.own(groups)
	if err != nil || !c.Unified {
		return own, err
	}
	if own = filepath.Dir(own); !c.enabled(own) {
		return "", missing(c.Name)
	}
	return own, nil
}

// own returns the cgroup of a process in groups.
func (c Controller) own(groups []procfs.Cgroup) (string, error) {
	for _, g := range groups {
		if c.Unified && g.HierarchyID == 0 || !c.Unified && slices.Contains(g.Controllers, c.Name) {
			return filepath.Join(c.Folder, g.Path), nil
		}
	}
	return "", missing(c.Name)
}

// set writes the files of a limit.
func (c Controller) set(folder string, l Limit) error {
	var err error
	if c.Name == "cpuset" && !c.Unified { // a group without nodes of memory takes no process
		nodes, _ := os.ReadFile(filepath.Join(filepath.Dir(folder), "cpuset.mems"))
		err = write(folder, "cpuset.mems", strings.TrimSpace(string(nodes)))
	}
	for i, names := range files[l.Controller][c.Unified] {
		for _, file := range names {
			if _, missing := os.Stat(filepath.Join(folder, file)); i > 0 && missing != nil {
				continue
			}
			value := l.Value
			if file == "memory.swap.max" {
				value = "0"
			}
			err = cmp.Or(err, write(folder, file, value))
		}
	}
	return err
}

// Move moves a process into a cgroup.
func Move(folder string, pid int) error { return write(folder, "cgroup.procs", strconv.Itoa(pid)) }

// OutOfMemory reports whether the kernel has killed a process of a cgroup at its limit of
// memory.
func OutOfMemory(folder string) bool {
	return counted(folder, "oom_kill", "memory.oom_control", "memory.events")
}

// OutOfProcesses reports whether the kernel has refused a process or a thread to a cgroup, at
// its limit of them.
func OutOfProcesses(folder string) bool { return counted(folder, "max", "pids.events") }

// counted reports whether an event has happened, by the first of some files of a cgroup that
// counts it.
func counted(folder, event string, files ...string) bool {
	for _, file := range files {
		text, _ := os.ReadFile(filepath.Join(folder, file))
		for line := range strings.Lines(string(text)) {
			if times, ok := strings.CutPrefix(strings.TrimSpace(line), event+" "); ok && times != "0" {
				return true
			}
		}
	}
	return false
}

// PeakMemory returns the most memory that the processes of a cgroup have had together, with their
// files in memory, in bytes; 0 where the kernel does not count it (version 2 before Linux 5.19).
func PeakMemory(folder string) uint64 {
	for _, file := range []string{"memory.peak", "memory.max_usage_in_bytes"} {
		if text, err := os.ReadFile(filepath.Join(folder, file)); err == nil {
			peak, _ := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
			return peak
		}
	}
	return 0
}

// PeakMemoryOf returns PeakMemory of the cgroup of a process.
func PeakMemoryOf(pid int) uint64 {
	c, err := Find("memory")
	if err != nil {
		return 0
	}
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	groups, err := p.Cgroups()
	if err != nil {
		return 0
	}
	folder, err := c.own(groups)
	if err != nil {
		return 0
	}
	return PeakMemory(folder)
}
