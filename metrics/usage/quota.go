package usage

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Quota is a limit of processor time: the limit of a process's cgroup, or of the nearest
// cgroup around it that has one. The zero Quota is no limit.
type Quota struct {
	Limit string // quota and period in us, as in cpu.max of https://docs.kernel.org/admin-guide/cgroup-v2.html
	dir   string // of the cgroup
}

// QuotaOf returns the quota of a process by the text of its cgroup file (cgroups(7)). sys is
// the directory of sysfs.
func QuotaOf(cgroup, sys string) Quota {
	for line := range strings.Lines(cgroup) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // hierarchy, controllers, path
		if len(parts) < 3 {
			continue
		}
		root, files := "fs/cgroup", []string{"cpu.max"}
		if slices.Contains(strings.Split(parts[1], ","), "cpu") { // version 1
			root, files = "fs/cgroup/cpu", []string{"cpu.cfs_quota_us", "cpu.cfs_period_us"}
		}
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			dir, values := filepath.Join(sys, root, group), []string(nil)
			for _, file := range files {
				text, _ := os.ReadFile(filepath.Join(dir, file)) // "" without the file
				values = append(values, strings.TrimSpace(string(text)))
			}
			if limit := strings.TrimSpace(strings.Join(values, " ")); limit != "" && limit[0] != '-' && limit[0] != 'm' { // -1 and max: none
				return Quota{limit, dir}
			}
			if group == "/" {
				break
			}
		}
	}
	return Quota{}
}

// quota returns the quota of the sampled process.
func (fs procFS) quota() Quota {
	pid := fs.self.PID
	if fs.other != nil {
		pid = fs.other.proc.PID
	}
	text, _ := os.ReadFile(filepath.Join(fs.dir, fmt.Sprint(pid), "cgroup")) // a process that has ended has none
	return QuotaOf(string(text), cmp.Or(os.Getenv("HOST_SYS"), "/sys"))
}

// periods counts the periods in which a cgroup had work, and the periods in which its quota
// ran out.
type periods struct{ all, throttled uint64 }

func (q Quota) periods() (p periods) {
	text, _ := os.ReadFile(filepath.Join(q.dir, "cpu.stat")) // none without a quota
	for line := range strings.Lines(string(text)) {
		_, _ = fmt.Sscanf(line, "nr_periods %d", &p.all) // of another line
		_, _ = fmt.Sscanf(line, "nr_throttled %d", &p.throttled)
	}
	return p
}

// throttledPercent returns the share of the periods from before to p in which the quota ran
// out.
func (p periods) throttledPercent(before periods) float64 {
	if p.all <= before.all {
		return 0
	}
	return 100 * float64(since(p.throttled, before.throttled)) / float64(p.all-before.all)
}
