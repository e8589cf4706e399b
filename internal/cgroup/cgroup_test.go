package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/procfs"
)

func TestFind(t *testing.T) {
	with, without := t.TempDir(), t.TempDir()
	for dir, enabled := range map[string]string{with: "cpuset cpu io\n", without: "cpuset memory\n"} {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(enabled), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	other := []*procfs.MountInfo{
		{MountPoint: "/", FSType: "ext4", SuperOptions: map[string]string{"rw": "", "cpu": ""}},
		{MountPoint: "/sys/fs/cgroup/cpuacct", FSType: "cgroup", SuperOptions: map[string]string{"rw": "", "cpuacct": ""}},
	}
	two := func(dir string) *procfs.MountInfo {
		return &procfs.MountInfo{MountPoint: dir, FSType: "cgroup2", SuperOptions: map[string]string{"rw": "", "nsdelegate": ""}}
	}
	one := &procfs.MountInfo{MountPoint: "/sys/fs/cgroup/cpu,cpuacct", FSType: "cgroup", SuperOptions: map[string]string{"cpu": "", "cpuacct": ""}}
	for _, test := range []struct {
		name   string
		mounts []*procfs.MountInfo
		want   Controller
		err    error
	}{
		{"version 1", append(other, one), Controller{Name: "cpu", Folder: one.MountPoint}, nil},
		{"version 2", append(other, two(with)), Controller{Name: "cpu", Folder: with, Unified: true}, nil},
		{"not enabled", append(other, two(without)), Controller{}, missing("cpu")},
		{"none", other, Controller{}, missing("cpu")},
	} {
		if got, err := find("cpu", test.mounts); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: %+v, %v; want %+v, %v", test.name, got, err, test.want, test.err)
		}
	}
}
