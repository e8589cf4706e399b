package node

import (
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	psutil "github.com/shirou/gopsutil/v3/process"

	"kvlab/metrics"
)

// names are the nodes' programs.
var names = []string{"kvsserver", "kvsclient"}

// processes are those of the machine, in order of their numbers.
func (m machine) processes() procfs.Procs {
	proc, err := procfs.NewFS(m.proc)
	if err != nil {
		return nil
	}
	all, _ := proc.AllProcs()
	slices.SortFunc(all, func(a, b procfs.Proc) int { return cmp.Compare(a.PID, b.PID) })
	return all
}

// programs returns the other processes of this user that run a node's program from
// below a folder, oldest first, without those that only answer a launcher's question.
func (m machine) programs(folder string) []metrics.Process {
	var found []metrics.Process
	for _, p := range m.processes() {
		program, _ := p.Executable() // "" of another user's
		program = strings.TrimSuffix(program, " (deleted)")
		if p.PID != os.Getpid() && slices.Contains(names, filepath.Base(program)) && strings.HasPrefix(program, folder+"/") {
			if d := describe(p.PID); d.Orphaned || !answers(p) {
				found = append(found, d)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b metrics.Process) int { return a.Started.Compare(b.Started) })
	return found
}

// answers reports whether a process was started for a launcher's question.
func answers(p procfs.Proc) bool {
	words, err := p.CmdLine()
	return err == nil && len(words) > 1 && (words[1] == ProbeFlag || words[1] == settingsFlag)
}

// listeners are the processes that keep others from listening on an address:
// those that listen on it, or on its port on every address. Tables and processes that
// cannot be read are missing from the answer.
func (m machine) listeners(address string) []metrics.Process {
	const listening = 0x0A
	wanted, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil
	}
	var owners []metrics.Process
	for _, s := range m.sockets() {
		addr, _ := netip.AddrFromSlice(s.LocalAddr)
		at := netip.AddrPortFrom(addr.Unmap(), uint16(s.LocalPort))
		if s.St != listening || at.Port() != wanted.Port() || !at.Addr().IsUnspecified() && at.Addr() != wanted.Addr().Unmap() {
			continue
		}
		before := len(owners)
		for _, p := range m.processes() {
			files, _ := p.FileDescriptorTargets() // only root sees those of other users
			if slices.Contains(files, fmt.Sprintf("socket:[%d]", s.Inode)) {
				owners = append(owners, describe(p.PID))
			}
		}
		if len(owners) == before {
			owners = append(owners, metrics.Process{User: userName(int(s.UID))})
		}
	}
	return owners
}

// sockets are the machine's TCP sockets; a kernel without IPv6 has no second table.
func (m machine) sockets() procfs.NetTCP {
	proc, err := procfs.NewFS(m.proc)
	if err != nil {
		return nil
	}
	//lint:ignore SA1019 netlink cannot read another /proc
	tcp, _ := proc.NetTCP()
	//lint:ignore SA1019 as above
	tcp6, _ := proc.NetTCP6()
	return append(tcp, tcp6...)
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
