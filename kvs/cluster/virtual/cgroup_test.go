package virtual

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindController(t *testing.T) {
	with, without := t.TempDir(), t.TempDir()
	for dir, enabled := range map[string]string{with: "cpuset cpu io\n", without: "cpuset memory\n"} {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(enabled), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const other = "24 1 254:0 / / rw,relatime - ext4 /dev/root rw\n31 30 0:27 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"
	two := func(dir string) string {
		return fmt.Sprintf("40 30 0:36 / %s rw - cgroup2 cgroup2 rw,nsdelegate\n", dir)
	}
	for _, test := range []struct {
		name, table string
		want        controller
		err         error
	}{
		{"version 1", other + "32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n", controller{folder: "/sys/fs/cgroup/cpu,cpuacct"}, nil},
		{"version 2", other + two(with), controller{folder: with, unified: true}, nil},
		{"not enabled", other + two(without), controller{}, errNoController},
		{"none", other, controller{}, errNoController},
		{"not a table", "x\n - \n", controller{}, errNoController},
	} {
		if got, err := findController(strings.NewReader(test.table)); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: %+v, %v; want %+v, %v", test.name, got, err, test.want, test.err)
		}
	}
}

// The files of version 2 are written as cgroup-v2.rst has them. Ordinary
// folders stand for cgroups here, since a kernel has its cpu controller in one
// of the two versions only.
func TestShareUnified(t *testing.T) {
	c := controller{folder: t.TempDir(), unified: true}
	group, err := c.group("self")
	if err != nil {
		t.Fatal(err)
	}
	self := &exec.Cmd{Process: &os.Process{Pid: os.Getpid()}}
	hosts := []*host{{name: "node0", cmd: self}, {name: "node1", cmd: self}, {name: "node2", cmd: self}}
	if err := c.share(hosts); err != nil {
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
