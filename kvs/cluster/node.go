package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// Node is a machine, or on this machine a pair of processes' place, that can
// take a role.
type Node struct {
	Name string // names the node in logs, records and the verdict
	SSH  string // ssh destination, user@host or host; "" when ssh is not used
	Port string // of sshd; "" for ssh's own choice
	Job  string // Slurm job through which it is reached; "" for none
	Addr string // data address as it was given; "" to resolve Name
}

// errLoopback is what is wrong with a name's address.
var errLoopback = errors.New("which other nodes cannot reach")

// dataAddress is the IP address at which the other nodes reach n's store. A
// name that resolves to loopback is refused: Debian's /etc/hosts gives a
// machine's own name to 127.0.1.1, where no other node can reach it.
func (n Node) dataAddress(ctx context.Context) (netip.Addr, error) {
	if addr, err := netip.ParseAddr(n.Addr); err == nil {
		return addr, nil
	}
	name := n.Addr
	if name == "" {
		name = n.Name
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("node %s: no data address: %w (give it as addr= in a --hosts file)", n.Name, err)
	}
	best := found[0].Unmap()
	for _, addr := range found {
		if addr = addr.Unmap(); addr.Is4() {
			best = addr
			break
		}
	}
	if best.IsLoopback() {
		return netip.Addr{}, fmt.Errorf("node %s: %s resolves to %s here, %w (give its address as addr= in a --hosts file)", n.Name, name, best, errLoopback)
	}
	return best, nil
}
