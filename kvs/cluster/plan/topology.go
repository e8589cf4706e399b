package plan

import (
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
// default one of each role.
func topologyOf(spec Spec, available int) (topology, error) {
	t := topology{
		servers: spec.Servers, clients: spec.Clients, symmetric: spec.Symmetric,
		perServer: max(spec.ServersPerNode, 1), perClient: max(spec.ClientsPerNode, 1),
	}
	if t.symmetric {
		return t, t.fillSymmetric(available)
	}
	return t, t.fillSeparate(available)
}

// fillSeparate divides the nodes as the labs' script does: by default half of them
// serve and the rest load.
func (t *topology) fillSeparate(available int) error {
	if available == 1 {
		return errors.New("1 node is named, and a run needs at least a server and a client: name more, or use --symmetric or --local")
	}
	if t.servers == 0 {
		t.servers = max(available/2, 1) * t.perServer
	}
	if t.clients == 0 {
		left := available - t.serving()
		if available == 0 {
			left = 1
		}
		t.clients = left * t.perClient
	}
	if t.clients <= 0 || available > 0 && t.nodes() > available {
		return t.tooFew(available)
	}
	return nil
}

// fillSymmetric makes every node serve and load by default.
func (t *topology) fillSymmetric(available int) error {
	switch {
	case t.servers == 0 && t.clients == 0:
		t.servers = max(available, 1) * t.perServer
		t.clients = max(available, 1) * t.perClient
	case t.clients == 0:
		t.clients = t.serving() * t.perClient
	case t.servers == 0:
		t.servers = t.loading() * t.perServer
	}
	if t.serving() != t.loading() {
		return fmt.Errorf("--symmetric: %s would take %s and %s %d: every node must both serve and load",
			format.Plural(t.servers, "server"), format.Plural(t.serving(), "node"), format.Plural(t.clients, "client"), t.loading())
	}
	if available > 0 && t.nodes() > available {
		return t.tooFew(available)
	}
	return nil
}

// useNodes sets the numbers of servers and clients that fill a number of nodes.
func (s *Spec) useNodes(nodes int) error {
	serving, loading := nodes/2, nodes-nodes/2
	if s.Symmetric {
		serving, loading = nodes, nodes
	}
	if serving == 0 {
		return errors.New("a run needs at least 2 nodes, a server and a client, or --symmetric")
	}
	s.Servers, s.Clients = serving*max(s.ServersPerNode, 1), loading*max(s.ClientsPerNode, 1)
	return nil
}

func (t topology) tooFew(available int) error {
	return fmt.Errorf("%s and %s are more than the %d nodes there are can take", format.Plural(t.servers, "server"), format.Plural(max(t.clients, 1), "client"), available)
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
