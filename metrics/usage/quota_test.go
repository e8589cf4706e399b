package usage

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/procfs"
)

// The quota of a process is that of the nearest cgroup with one, of both versions, and it ran
// out in 45 of the 60 periods of a window.
func TestQuota(t *testing.T) {
	for name, test := range map[string]struct {
		cgroup, dir string
		files       map[string]string
	}{
		"version 1": {"4:memory:/jobs\n2:cpu,cpuacct:/jobs/7\n", "fs/cgroup/cpu/jobs", map[string]string{"cpu.cfs_quota_us": "150000\n", "cpu.cfs_period_us": "100000\n", "7/cpu.cfs_quota_us": "-1\n"}},
		"version 2": {"0::/a/b\n", "fs/cgroup/a", map[string]string{"cpu.max": "150000 100000\n", "b/cpu.max": "max 100000\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			t.Setenv("HOST_SYS", root)
			write := func(path, text string) {
				path = filepath.Join(root, path)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			write("proc/7/cgroup", test.cgroup)
			for file, text := range test.files {
				write(filepath.Join(test.dir, file), text)
			}
			q := procFS{dir: filepath.Join(root, "proc"), other: &foreign{procfs.Proc{PID: 7}}}.quota()
			if q.Limit != "150000 100000" {
				t.Fatalf("limit %q", q.Limit)
			}
			write(test.dir+"/cpu.stat", "usage_usec 5\nnr_periods 100\nnr_throttled 10\nthrottled_usec 7\n")
			before := q.periods()
			write(test.dir+"/cpu.stat", "usage_usec 5\nnr_periods 160\nnr_throttled 55\nthrottled_usec 7\n")
			if got := q.periods().throttledPercent(before); got != 75 {
				t.Errorf("throttled in %g %% of the periods, want 75", got)
			}
		})
	}
	var none Quota
	if got := none.periods().throttledPercent(periods{}); got != 0 {
		t.Errorf("without a quota: %g", got)
	}
}
