package node

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"kvlab/metrics"
	"kvlab/metrics/usage"
)

// linkOf returns the interface that has an address; the zero Link if none has.
func (m machine) linkOf(addr netip.Addr) (metrics.Link, error) {
	names, err := usage.Holders(addr.Unmap())
	if len(names) == 0 {
		return metrics.Link{}, err
	}
	return m.link(names[0]), nil
}

// link reads an interface's speed and MTU
// (https://docs.kernel.org/admin-guide/abi-testing.html, sysfs-class-net). The
// speed, in 10^6 bits per second, is -1 or unreadable for most virtual ones.
func (m machine) link(name string) metrics.Link {
	l := metrics.Link{Name: name}
	if mbits := m.number(name, "speed"); mbits > 0 && (mbits != vethClaim || driver(name) != "veth") {
		l.BitsPerS = uint64(mbits) * 1e6
	}
	l.MTUBytes = max(m.number(name, "mtu"), 0)
	return l
}

// number reads one of an interface's files; 0 if it holds no number.
func (m machine) number(name, file string) int {
	text, _ := os.ReadFile(filepath.Join(m.sys, "class/net", name, file))
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

// vethClaim is the speed, in Mb/s, that every veth interface reports although it has no
// limit (veth_get_link_ksettings in the kernel's drivers/net/veth.c).
const vethClaim = 10_000

// driver returns the name of an interface's driver, or "".
func driver(name string) string {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(socket)
	info, err := unix.IoctlGetEthtoolDrvinfo(socket, name)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(info.Driver[:])
}

// OnControl reports whether an address is this machine's in the testbed's control
// network, which must not carry an experiment's data.
func OnControl(addr netip.Addr) bool {
	control := thisMachine.controlInterface()
	link, err := thisMachine.linkOf(addr)
	return err == nil && control != "" && control == link.Name
}

// controlInterface returns the interface of the testbed's control network; "" outside a
// testbed.
func (m machine) controlInterface() string {
	name, _ := os.ReadFile(m.controlFile)
	return strings.TrimSpace(string(name))
}

// control returns the interface of the control network: the testbed's, or else the interface
// of the IPv4 default route if the machine has several interfaces with a device: no loopback,
// bridge or tunnel.
func (m machine) control() (link metrics.Link, guessed bool, err error) {
	name := m.controlInterface()
	if name == "" {
		devices, _ := filepath.Glob(filepath.Join(m.sys, "class/net/*/device"))
		routes, err := m.proc.NetRoute()
		i := slices.IndexFunc(routes, func(r procfs.NetRouteLine) bool { return r.Destination == 0 && r.Mask == 0 })
		if i < 0 || len(devices) < 2 {
			return link, false, err
		}
		name, guessed = routes[i].Iface, true
	}
	return m.link(name), guessed, nil
}
