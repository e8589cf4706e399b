package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
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
		want        Controller
		err         error
	}{
		{"version 1", other + "32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n", Controller{Folder: "/sys/fs/cgroup/cpu,cpuacct"}, nil},
		{"version 2", other + two(with), Controller{Folder: with, Unified: true}, nil},
		{"not enabled", other + two(without), Controller{}, errNoController},
		{"none", other, Controller{}, errNoController},
		{"not a table", "x\n - \n", Controller{}, errNoController},
	} {
		if got, err := find(strings.NewReader(test.table)); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: %+v, %v; want %+v, %v", test.name, got, err, test.want, test.err)
		}
	}
}
