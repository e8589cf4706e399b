// Package nodes finds the machines of a run: the command line names them, or they are the
// nodes of a Slurm job or a testbed, or this machine.
package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
)

// Node is a machine that can take a role.
type Node struct {
	Name string // names the node in logs, records and the verdict
	Addr string // data address as it was given; "" to resolve Name
	Way  Way    // how its programs are run
}

// Way is the way to run a node's programs. Package remote implements each kind.
type Way struct {
	Kind Kind
	To   string // SSH: the destination, user@host or host. Srun: the Slurm job
	Port string // SSH: the port of sshd; "" for ssh's own choice
}

// Kind is the kind of a Way.
type Kind string

// The kinds of ways.
const (
	Local Kind = ""     // as processes on this machine
	SSH   Kind = "ssh"  // by the system's ssh
	Srun  Kind = "srun" // as steps of a Slurm job
)

// String describes the way for people.
func (w Way) String() string {
	switch {
	case w.Kind == Srun:
		return "by srun in Slurm job " + w.To
	case w.Kind == SSH && w.Port != "":
		return "by ssh " + w.To + " port " + w.Port
	case w.Kind == SSH:
		return "by ssh " + w.To
	}
	return "on this machine"
}

// validName matches valid names of nodes. A name becomes part of file names and an
// argument of ssh.
var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// CheckName returns an error for an invalid node name.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("%q is no node name: letters, digits, dot, dash and underscore", name)
	}
	return nil
}

// errLoopback marks a name that resolves to a loopback address.
var errLoopback = errors.New("which other nodes cannot reach")

// DataAddress returns the IP address at which the other nodes reach n's store. It
// rejects a name that resolves to loopback: Debian's /etc/hosts maps a machine's own name
// to 127.0.1.1, which other nodes cannot reach.
func (n Node) DataAddress(ctx context.Context) (netip.Addr, error) {
	if addr, err := netip.ParseAddr(n.Addr); err == nil {
		return addr, nil
	}
	name := cmp.Or(n.Addr, n.Name)
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("node %s: no data address: %w (give it as addr= in a --hosts file)", n.Name, err)
	}
	first4 := slices.IndexFunc(found, func(addr netip.Addr) bool { return addr.Unmap().Is4() })
	best := found[max(first4, 0)].Unmap()
	if best.IsLoopback() {
		return netip.Addr{}, fmt.Errorf("node %s: %s resolves to %s here, %w (give its address as addr= in a --hosts file)", n.Name, name, best, errLoopback)
	}
	return best, nil
}
