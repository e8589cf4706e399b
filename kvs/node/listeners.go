package node

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"

	"kvlab/metrics"
)

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
		at := localAddress(s.LocalAddr, s.LocalPort)
		if s.St != listening || at.Port() != wanted.Port() || !at.Addr().IsUnspecified() && at.Addr() != wanted.Addr().Unmap() {
			continue
		}
		holders := m.holders(s.Inode)
		if len(holders) == 0 {
			owners = append(owners, metrics.Process{User: userName(int(s.UID))})
		}
		for _, pid := range holders {
			owners = append(owners, describe(pid))
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

func localAddress(ip net.IP, port uint64) netip.AddrPort {
	addr, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(addr.Unmap(), uint16(port))
}

// holders are the processes that have a socket open. Only root sees those of
// other users.
func (m machine) holders(inode uint64) []int {
	links, err := filepath.Glob(filepath.Join(m.proc, "[0-9]*/fd/*"))
	if err != nil { // only for a bad pattern
		return nil
	}
	socket := fmt.Sprintf("socket:[%d]", inode)
	var pids []int
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == socket {
			pids = append(pids, pidOf(m.proc, link))
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// pidOf is the process that a path below proc belongs to.
func pidOf(proc, path string) int {
	rest, _ := filepath.Rel(proc, path)
	first, _, _ := strings.Cut(rest, string(filepath.Separator))
	pid, _ := strconv.Atoi(first)
	return pid
}
