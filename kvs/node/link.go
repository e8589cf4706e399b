package node

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"kvlab/metrics"
	"kvlab/metrics/usage"
)

// linkOf returns the interface that has an address; the zero Link if none has.
func (m machine) linkOf(addr netip.Addr) (metrics.Link, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return metrics.Link{}, fmt.Errorf("interfaces: %w", err)
	}
	for _, i := range interfaces {
		if addr.IsLoopback() && i.Flags&net.FlagLoopback != 0 || usage.HoldsAddress(i, addr.Unmap()) { // lo has all of 127/8
			return m.link(i.Name), nil
		}
	}
	return metrics.Link{}, nil
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
	text, err := os.ReadFile(filepath.Join(m.sys, "class/net", name, file))
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
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
	control, err := thisMachine.controlInterface()
	link, linkErr := thisMachine.linkOf(addr)
	return err == nil && linkErr == nil && control != "" && control == link.Name
}

// controlInterface returns the interface of the testbed's control network; "" outside a
// testbed.
func (m machine) controlInterface() (string, error) {
	name, err := os.ReadFile(m.controlFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("control interface: %w", err)
	}
	return strings.TrimSpace(string(name)), nil
}

// control returns the interface of the control network: the testbed's, or else that of
// the default route if the machine has several interfaces.
func (m machine) control() (link metrics.Link, guessed bool, err error) {
	name, err := m.controlInterface()
	if err != nil {
		return link, false, err
	}
	if name == "" {
		if name, err = m.defaultRoute(); err != nil {
			return link, false, err
		}
		if guessed = name != "" && m.hardware() > 1; !guessed {
			return link, false, nil
		}
	}
	return m.link(name), guessed, nil
}

// defaultRoute returns the interface of the IPv4 default route, or "".
func (m machine) defaultRoute() (string, error) {
	proc, err := procfs.NewFS(m.proc)
	if err != nil {
		return "", fmt.Errorf("default route: %w", err)
	}
	routes, err := proc.NetRoute()
	if err != nil {
		return "", fmt.Errorf("default route: %w", err)
	}
	for _, r := range routes {
		if r.Destination == 0 && r.Mask == 0 {
			return r.Iface, nil
		}
	}
	return "", nil
}

// hardware returns the number of interfaces with a device: no loopback, bridge or tunnel.
func (m machine) hardware() int {
	devices, err := filepath.Glob(filepath.Join(m.sys, "class/net/*/device"))
	if err != nil { // only for a bad pattern
		return 0
	}
	return len(devices)
}
