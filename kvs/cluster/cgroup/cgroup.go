// Package cgroup divides processor time among processes by the kernel's cpu
// controller, version 1 or 2 (cgroups(7)).
package cgroup

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// Controller is a mounted cpu controller.
type Controller struct {
	Folder  string // the root of its hierarchy
	Unified bool   // cgroup v2
}

// errNoController means that this machine mounts no usable cpu controller.
var errNoController = errors.New("no cpu controller for cgroups is mounted here")

// Find returns the cpu controller that this process sees.
func Find() (Controller, error) {
	mounts, err := procfs.GetMounts()
	if err != nil {
		return Controller{}, err
	}
	return find(mounts)
}

// find looks for the cpu controller among mounts. Version 2 counts only if the
// controller is enabled for the root's children, as systemd enables it. That setting
// belongs to the whole machine, and find does not change it.
func find(mounts []*procfs.MountInfo) (Controller, error) {
	for _, m := range mounts {
		c := Controller{Folder: m.MountPoint, Unified: m.FSType == "cgroup2"}
		_, cpu := m.SuperOptions["cpu"]
		if c.Unified {
			enabled, _ := os.ReadFile(filepath.Join(c.Folder, "cgroup.subtree_control"))
			cpu = slices.Contains(strings.Fields(string(enabled)), "cpu")
		}
		if cpu && (c.Unified || m.FSType == "cgroup") {
			return c, nil
		}
	}
	return Controller{}, errNoController
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
