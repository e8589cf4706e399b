package node

import (
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kvlab/metrics"
)

// socket is one listening socket of /proc/net/tcp or tcp6.
type socket struct {
	address netip.AddrPort
	uid     int
	inode   string
}

// listeners are the processes that keep others from listening on an address:
// those that listen on it, or on its port on every address. Whatever cannot be
// read is missing from the answer.
func (m machine) listeners(address string) []metrics.Process {
	wanted, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil
	}
	var found []socket
	for _, file := range []string{"net/tcp", "net/tcp6"} {
		text, err := os.ReadFile(filepath.Join(m.proc, file))
		if err != nil {
			continue // a kernel without IPv6
		}
		for _, s := range parseListeners(string(text)) {
			at := s.address.Addr()
			if s.address.Port() == wanted.Port() && (at.IsUnspecified() || at == wanted.Addr().Unmap()) {
				found = append(found, s)
			}
		}
	}
	var owners []metrics.Process
	for _, s := range found {
		holders := m.holders(s.inode)
		if len(holders) == 0 {
			owners = append(owners, metrics.Process{User: userName(s.uid)})
		}
		for _, pid := range holders {
			owners = append(owners, describe(pid))
		}
	}
	return owners
}

// parseListeners reads the listening sockets of a table whose columns are
// described in proc_pid_net(5) and
// https://docs.kernel.org/networking/proc_net_tcp.html.
func parseListeners(table string) []socket {
	const local, state, uid, inode, columns = 1, 3, 7, 9, 10
	const listening = "0A"
	var sockets []socket
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < columns || fields[state] != listening {
			continue
		}
		address, ok := parseSocketAddress(fields[local])
		owner, err := strconv.Atoi(fields[uid])
		if ok && err == nil {
			sockets = append(sockets, socket{address: address, uid: owner, inode: fields[inode]})
		}
	}
	return sockets
}

// parseSocketAddress reads "0100007F:1F90". The address is in words of four
// bytes, each in the machine's own order, little-endian on amd64 and arm64.
func parseSocketAddress(text string) (netip.AddrPort, bool) {
	ip, port, _ := strings.Cut(text, ":")
	bytes, err := hex.DecodeString(ip)
	if err != nil || len(bytes)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for word := range slices.Chunk(bytes, 4) {
		slices.Reverse(word)
	}
	addr, ok := netip.AddrFromSlice(bytes)
	number, err := strconv.ParseUint(port, 16, 16)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number)), ok && err == nil
}

// holders are the processes that have a socket open. Only root sees those of
// other users.
func (m machine) holders(inode string) []int {
	links, err := filepath.Glob(filepath.Join(m.proc, "[0-9]*/fd/*"))
	if err != nil { // only for a bad pattern
		return nil
	}
	var pids []int
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == "socket:["+inode+"]" {
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
