package node

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"kvlab/metrics"
)

// names are the nodes' programs, and the program that contains others.
var names = []string{"kvsserver", "kvsclient", container}

// container is the launcher's program, which on nodes runs to contain others.
const container = "kvscluster"

// processes returns the processes of the machine, in order of their numbers.
func (m machine) processes() procfs.Procs {
	all, _ := m.proc.AllProcs()
	slices.SortFunc(all, func(a, b procfs.Proc) int { return cmp.Compare(a.PID, b.PID) })
	return all
}

// programs returns the other processes of this user that run a node's program from
// below a folder, oldest first, without those that only answer a launcher's question.
func (m machine) programs(folder string) []metrics.Process {
	var found []metrics.Process
	for _, p := range m.processes() {
		if p.PID != os.Getpid() && program(p, folder) != "" {
			if d := describe(p); d.Orphaned || !answers(p) {
				found = append(found, d)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b metrics.Process) int { return a.Started.Compare(b.Started) })
	return found
}

// program returns the name of the node's program that a process of this user runs from
// below a folder; "" if it runs none.
func program(p procfs.Proc, folder string) string {
	path, _ := p.Executable() // "" of another user's, except to root
	path = strings.TrimSuffix(path, " (deleted)")
	name := filepath.Base(path)
	if !slices.Contains(names, name) || !strings.HasPrefix(path, folder+"/") {
		return ""
	}
	if status, err := p.NewStatus(); err != nil || status.UIDs[1] != uint64(os.Geteuid()) {
		return ""
	}
	if words, _ := p.CmdLine(); name == container && (len(words) < 2 || words[1] != ContainFlag) {
		return "" // a launcher
	}
	return name
}

// reap kills the nodes that launchers of this user have started from a folder's programs,
// stopped ones too, and waits until they have ended. It prints each as "kvlab NUMBER TEXT".
func (m machine) reap(folder string, stdout io.Writer) error {
	var errs []error
	found := map[metrics.ProcessID]string{}
	for _, p := range m.processes() {
		id, err := Find(p.PID) // before the program is looked at: the number may be used again
		words, _ := p.CmdLine()
		name := program(p, folder)
		if err != nil || name == "" || len(words) < 3 || !slices.Contains([]string{ControlFlag, ContainFlag}, words[1]) {
			continue
		}
		found[id] = fmt.Sprintf("ended %s %s, process %d, started %s", name, words[len(words)-1], p.PID, describe(p).Started.Format(time.DateTime))
	}
	for id := range found { // once all are found: a launcher ends a run's other nodes when one is gone
		errs = append(errs, send(id, syscall.SIGKILL))
	}
	for id, text := range found {
		err := waitGone(id)
		if err == nil {
			fmt.Fprintf(stdout, "kvlab %d %s\n", id.PID, text)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// answers reports whether a process was started for a launcher's question.
func answers(p procfs.Proc) bool {
	words, err := p.CmdLine()
	return err == nil && len(words) > 1 && (words[1] == ProbeFlag || words[1] == settingsFlag)
}

// listeners returns the processes that keep others from listening on an address: they listen
// on it, or on its port on every address. The answer lacks tables and processes that cannot be
// read.
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
			files, _ := p.FileDescriptorTargets() // only root sees other users' files
			if slices.Contains(files, fmt.Sprintf("socket:[%d]", s.Inode)) {
				owners = append(owners, describe(p))
			}
		}
		if len(owners) == before {
			owners = append(owners, metrics.Process{User: userName(int(s.UID))})
		}
	}
	return owners
}

// sockets returns the machine's TCP sockets; a kernel without IPv6 has no second table.
func (m machine) sockets() procfs.NetTCP {
	//lint:ignore SA1019 netlink cannot read another /proc
	tcp, _ := m.proc.NetTCP()
	//lint:ignore SA1019 as above
	tcp6, _ := m.proc.NetTCP6()
	return append(tcp, tcp6...)
}

// describe describes a process; its name is empty if it has ended.
func describe(p procfs.Proc) metrics.Process {
	d := metrics.Process{PID: p.PID}
	if status, err := p.NewStatus(); err == nil {
		d.User = userName(int(status.UIDs[0]))
	}
	stat, err := p.Stat()
	if err != nil {
		return d
	}
	d.Name, d.Stopped, d.Orphaned = stat.Comm, stat.State == "T", orphaned(stat.PPID)
	if started, err := stat.StartTime(); err == nil {
		d.Started = time.UnixMilli(int64(1000 * started))
	}
	return d
}

// orphaned reports whether a process's parent shows that its own has ended: init has
// adopted it, or the user's systemd(1).
func orphaned(parent int) bool {
	if parent <= 1 {
		return true
	}
	var name string
	p, err := procfs.NewProc(parent)
	if err == nil {
		name, _ = p.Comm()
	}
	return name == "systemd"
}
