package plan

import (
	"cmp"
	"errors"
	"fmt"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// topology is the number of servers and clients of a run, and their spread over nodes.
type topology struct {
	servers, clients int  // processes
	perServer        int  // servers on each node that serves
	perClient        int  // clients on each node that loads
	symmetric        bool // the nodes that serve are those that load
}

// topologyOf fills in the numbers that the command line does not give. available is the
// number of nodes; 0 means this machine, which takes any number of processes and by
// default one of each role. As in the labs' script, half of the nodes serve by default and
// the rest load; with --symmetric, every node serves and loads.
func topologyOf(spec Spec, available int) (topology, error) {
	t := topology{
		servers: spec.Servers, clients: spec.Clients, symmetric: spec.Symmetric,
		perServer: max(spec.ServersPerNode, 1), perClient: max(spec.ClientsPerNode, 1),
	}
	nodes := cmp.Or(spec.Machines, available)
	serving := max(nodes/2, 1)
	if t.symmetric {
		serving = cmp.Or(t.loading(), max(nodes, 1))
	} else if nodes == 1 {
		return t, errors.New("a run needs at least 2 nodes, a server and a client, or --symmetric or --local")
	}
	if t.servers == 0 {
		t.servers = serving * t.perServer
	}
	if t.clients == 0 {
		loading := nodes - t.serving()
		if t.symmetric {
			loading = t.serving()
		} else if nodes == 0 {
			loading = 1
		}
		t.clients = loading * t.perClient
	}
	switch {
	case t.symmetric && t.serving() != t.loading():
		return t, fmt.Errorf("--symmetric: %s would take %s and %s %d: every node must both serve and load",
			format.Plural(t.servers, "server"), format.Plural(t.serving(), "node"), format.Plural(t.clients, "client"), t.loading())
	case t.clients <= 0 || available > 0 && t.nodes() > available:
		return t, fmt.Errorf("%s and %s are more than the %d nodes there are can take", format.Plural(t.servers, "server"), format.Plural(max(t.clients, 1), "client"), available)
	}
	return t, nil
}

// serving and loading return the numbers of nodes with servers and with clients.
func (t topology) serving() int { return (t.servers + t.perServer - 1) / t.perServer }
func (t topology) loading() int { return (t.clients + t.perClient - 1) / t.perClient }

// nodes returns the number of used nodes.
func (t topology) nodes() int {
	if t.symmetric {
		return t.serving()
	}
	return t.serving() + t.loading()
}

// seats are the processes of one role, from a node on.
type seats struct {
	role                  metrics.Role
	first, count, perNode int
}

// seats returns the servers and the clients.
func (t topology) seats() []seats {
	first := t.serving()
	if t.symmetric {
		first = 0
	}
	return []seats{{metrics.Server, 0, t.servers, t.perServer}, {metrics.Client, first, t.clients, t.perClient}}
}
