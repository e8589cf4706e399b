package node

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	psutil "github.com/shirou/gopsutil/v3/process"

	"kvlab/metrics"
)

// names are the nodes' programs.
var names = []string{"kvsserver", "kvsclient"}

// programs returns the other processes of this user that run a node's program from
// below a folder, oldest first, without those that only answer a launcher's question.
func (m machine) programs(folder string) []metrics.Process {
	links, err := filepath.Glob(filepath.Join(m.proc, "[0-9]*/exe"))
	if err != nil { // only for a bad pattern
		return nil
	}
	var found []metrics.Process
	for _, link := range links {
		program, err := os.Readlink(link)
		if err != nil {
			continue // another user's, or ended
		}
		program = strings.TrimSuffix(program, " (deleted)")
		pid := pidOf(m.proc, link)
		if pid != os.Getpid() && slices.Contains(names, filepath.Base(program)) && strings.HasPrefix(program, folder+"/") {
			if p := describe(pid); p.Orphaned || !m.answers(pid) {
				found = append(found, p)
			}
		}
	}
	slices.SortFunc(found, func(a, b metrics.Process) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.PID, b.PID))
	})
	return found
}

// answers reports whether a process was started for such a question.
func (m machine) answers(pid int) bool {
	line, err := os.ReadFile(filepath.Join(m.proc, strconv.Itoa(pid), "cmdline"))
	words := strings.Split(string(line), "\x00")
	return err == nil && len(words) > 1 && (words[1] == ProbeFlag || words[1] == settingsFlag)
}

// describe describes a process; its name is empty if it has ended.
func describe(pid int) metrics.Process {
	p := metrics.Process{PID: pid}
	found := &psutil.Process{Pid: int32(pid)}
	p.Name, _ = found.Name()
	if uids, err := found.Uids(); err == nil && len(uids) > 0 {
		p.User = userName(int(uids[0]))
	}
	if ms, err := found.CreateTime(); err == nil {
		p.Started = time.UnixMilli(ms)
	}
	if states, err := found.Status(); err == nil {
		p.Stopped = slices.Contains(states, psutil.Stop)
	}
	p.Orphaned = orphaned(found)
	return p
}

// orphaned reports whether p's parent has ended: init has adopted p, or the user's
// systemd(1).
func orphaned(p *psutil.Process) bool {
	parent, err := p.Ppid()
	if err != nil {
		return false
	}
	if parent <= 1 {
		return true
	}
	name, err := (&psutil.Process{Pid: parent}).Name()
	return err == nil && name == "systemd"
}
