package virtual

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"kvlab/internal/cgroup"
)

// The files of version 2 are written as cgroup-v2.rst has them. Ordinary folders
// stand for cgroups, since a kernel has its cpu controller in one version only.
func TestShareUnified(t *testing.T) {
	c := cgroup.Controller{Folder: t.TempDir(), Unified: true}
	group, err := labGroup(c, "self")
	if err != nil {
		t.Fatal(err)
	}
	self := &exec.Cmd{Process: &os.Process{Pid: os.Getpid()}}
	hosts := []*host{{name: "node0", cmd: self}, {name: "node1", cmd: self}, {name: "node2", cmd: self}}
	if err := share(c, hosts); err != nil {
		t.Fatal(err)
	}
	own := fmt.Sprint(os.Getpid())
	for file, want := range map[string]string{
		"cgroup.subtree_control": "+cpu", "cpu.weight": "300", "hub/cpu.weight": "300", "hub/cgroup.procs": own,
		"node0/cpu.weight": "100", "node2/cpu.weight": "100", "node2/cgroup.procs": own,
	} {
		if got, err := os.ReadFile(filepath.Join(group, file)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", file, got, err, want)
		}
	}
}
