// Package cgroup limits and divides processor time, memory and numbers of processes by
// the kernel's controllers, version 1 or 2 (cgroups(7)).
package cgroup

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// Controller is a mounted controller.
type Controller struct {
	Name    string // such as cpu
	Folder  string // the root of its hierarchy
	Unified bool   // cgroup v2
}

// missing is the controller that this machine mounts nowhere, or not for use.
type missing string

func (m missing) Error() string {
	return fmt.Sprintf("no %s controller for cgroups is mounted here", string(m))
}

// Find returns a controller that this process sees.
func Find(name string) (Controller, error) {
	mounts, err := procfs.GetMounts()
	if err != nil {
		return Controller{}, err
	}
	return find(name, mounts)
}

// find looks for a controller among mounts. Version 2 counts only if the controller is
// enabled for the root's children, as systemd enables it. That setting belongs to the
// whole machine, and find does not change it.
func find(name string, mounts []*procfs.MountInfo) (Controller, error) {
	for _, m := range mounts {
		c := Controller{Name: name, Folder: m.MountPoint, Unified: m.FSType == "cgroup2"}
		_, has := m.SuperOptions[name]
		if c.Unified {
			has = c.enabled(c.Folder)
		}
		if has && (c.Unified || m.FSType == "cgroup") {
			return c, nil
		}
	}
	return Controller{}, missing(name)
}

// enabled reports whether a cgroup of version 2 has the controller for its children.
func (c Controller) enabled(group string) bool {
	names, _ := os.ReadFile(filepath.Join(group, "cgroup.subtree_control"))
	return slices.Contains(strings.Fields(string(names)), c.Name)
}

// Add makes a cgroup with a multiple of the default weight, and moves processes into
// it. The kernel's cgroup-v2.rst and sched-design-CFS.rst give the defaults.
func (c Controller) Add(group string, weights int, processes ...int) error {
	if err := os.Mkdir(group, 0o755); err != nil {
		return err
	}
	file, weight := "cpu.shares", 1024
	if c.Unified {
		file, weight = "cpu.weight", 100
	}
	err := write(group, file, strconv.Itoa(weights*weight))
	for _, pid := range processes {
		err = cmp.Or(err, write(group, "cgroup.procs", strconv.Itoa(pid)))
	}
	return err
}

// Divide allows different weights for the children of a cgroup.
func (c Controller) Divide(group string) error {
	if !c.Unified {
		return nil // version 1 always allows them
	}
	return write(group, "cgroup.subtree_control", "+cpu")
}

// write sets one of a cgroup's files.
func write(group, file, value string) error {
	return os.WriteFile(filepath.Join(group, file), []byte(value), 0o644)
}
