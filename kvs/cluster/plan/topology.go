package plan

import (
	"cmp"
	"errors"
	"fmt"

	"kvlab/metrics/format"
)

// fill fills in the numbers that the command line does not give. available is the number of
// nodes. 0 means this machine, which takes any number of processes, and by default one of each
// role. As in the labs' script, half of the nodes serve by default and the rest load. With
// --symmetric, every node serves and loads.
func (s Spec) fill(available int) (Spec, error) {
	s.ServersPerNode, s.ClientsPerNode = max(s.ServersPerNode, 1), max(s.ClientsPerNode, 1)
	nodes := cmp.Or(s.Machines, available)
	serving := max(nodes/2, 1)
	if s.Symmetric {
		serving = cmp.Or(s.loading(), max(nodes, 1))
	} else if nodes == 1 {
		return s, errors.New("a run needs at least 2 nodes, a server and a client, or --symmetric or --local")
	}
	if s.Servers == 0 {
		s.Servers = serving * s.ServersPerNode
	}
	if s.Clients == 0 {
		loading := nodes - s.serving()
		if s.Symmetric {
			loading = s.serving()
		} else if nodes == 0 {
			loading = 1
		}
		s.Clients = loading * s.ClientsPerNode
	}
	switch {
	case s.Symmetric && s.serving() != s.loading():
		return s, fmt.Errorf("--symmetric: %s would take %s and %s %d: every node must both serve and load",
			format.Plural(s.Servers, "server"), format.Plural(s.serving(), "node"), format.Plural(s.Clients, "client"), s.loading())
	case s.Clients <= 0 || available > 0 && s.nodes() > available:
		return s, fmt.Errorf("%s and %s are more than the %d nodes there are can take", format.Plural(s.Servers, "server"), format.Plural(max(s.Clients, 1), "client"), available)
	}
	return s, nil
}

// serving and loading return the numbers of nodes with servers and with clients.
func (s Spec) serving() int { return (s.Servers + s.ServersPerNode - 1) / s.ServersPerNode }
func (s Spec) loading() int { return (s.Clients + s.ClientsPerNode - 1) / s.ClientsPerNode }

// nodes returns the number of used nodes.
func (s Spec) nodes() int {
	if s.Symmetric {
		return s.serving()
	}
	return s.serving() + s.loading()
}
