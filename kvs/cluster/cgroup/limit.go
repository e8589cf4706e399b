package cgroup

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
	for _, g := range groups {
		switch {
		case c.Unified && g.HierarchyID == 0:
			if above := filepath.Join(c.Folder, filepath.Dir(g.Path)); c.enabled(above) {
				return above, nil
			}
		case !c.Unified:
			for _, name := range g.Controllers {
				if name == c.Name {
					return filepath.Join(c.Folder, g.Path), nil
				}
			}
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
	for _, file := range []string{"memory.oom_control", "memory.events"} {
		text, _ := os.ReadFile(filepath.Join(folder, file))
		for line := range strings.Lines(string(text)) {
			if killed, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok && killed != "0" {
				return true
			}
		}
	}
	return false
}
