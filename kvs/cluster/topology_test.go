package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
)

// Each case is a command line over a number of nodes, 0 for this machine, and what
// it means: the servers' names, then the clients', or the error.
func TestTopologies(t *testing.T) {
	tests := []struct {
		available int
		args      string
		want      string
	}{
		{0, "", "node0 | node1"},
		{0, "2 3", "node0 node1 | node2 node3 node4"},
		{2, "", "n0 | n1"},
		{5, "", "n0 n1 | n2 n3 n4"},
		{8, "2", "n0 n1 | n2 n3 n4 n5 n6 n7"},
		{8, "2 3", "n0 n1 | n2 n3 n4"},
		{8, "7 1", "n0 n1 n2 n3 n4 n5 n6 | n7"},
		{8, "8", "error: 8 servers and 1 client are more than the 8 nodes there are"},
		{8, "5 4", "error: 5 servers and 4 clients are more than the 8 nodes there are"},
		{1, "", "error: a run needs at least 2 nodes, a server and a client"},
		{2, "1 2", "error: 1 server and 2 clients are more than the 2 nodes"},

		{0, "--symmetric", "node0 | node0"},
		{0, "--symmetric 2", "node0 node1 | node0 node1"},
		{1, "--symmetric", "n0 | n0"},
		{3, "--symmetric", "n0 n1 n2 | n0 n1 n2"},
		{3, "--symmetric 2", "n0 n1 | n0 n1"},
		{3, "--symmetric 2 2 --clients-per-node 2", "error: --symmetric: 2 servers would take 2 nodes and 2 clients 1"},
		{3, "--symmetric 4", "error: 4 servers and 4 clients are more than the 3 nodes"},
		{2, "--symmetric --servers-per-node 2", "n0-0 n0-1 n1-0 n1-1 | n0 n1"},
		{2, "--symmetric --clients-per-node 3 2", "n0 n1 | n0-0 n0-1 n0-2 n1-0 n1-1 n1-2"},

		{2, "--servers-per-node 2", "n0-0 n0-1 | n1"},
		{3, "--servers-per-node 2 3 1", "n0-0 n0-1 n1-0 | n2"},
		{3, "--servers-per-node 4 --clients-per-node 2", "n0-0 n0-1 n0-2 n0-3 | n1-0 n1-1 n2-0 n2-1"},
		{0, "--servers-per-node 2 --clients-per-node 2", "node0-0 node0-1 | node1-0 node1-1"},
		{2, "--servers-per-node 2 4 1", "error: 4 servers and 1 client are more than the 2 nodes"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%d nodes %s", test.available, test.args), func(t *testing.T) {
			cfg, err := parse(strings.Fields(test.args), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			var found []nodes.Node
			for i := range test.available {
				found = append(found, nodes.Node{Name: fmt.Sprintf("n%d", i), Addr: fmt.Sprintf("10.0.0.%d", i+1)})
			}
			plan, err := plan.Make(context.Background(), cfg.Spec, found)
			if want, isError := strings.CutPrefix(test.want, "error: "); isError {
				if err == nil || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("error %v, want %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			names := make(map[metrics.Role][]string)
			for _, p := range plan.Places {
				names[p.Role] = append(names[p.Role], p.Name)
				if !strings.HasPrefix(p.Name, p.Node.Name) || p.Role == metrics.Client != (p.Listen == "") {
					t.Errorf("place %+v", p)
				}
			}
			if got := strings.Join(names[metrics.Server], " ") + " | " + strings.Join(names[metrics.Client], " "); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// Servers that share an address get ports of their own, and names that would
// clash are refused.
func TestSharedNodes(t *testing.T) {
	nodes := []nodes.Node{{Name: "a", Addr: "10.0.0.1"}, {Name: "a-1", Addr: "10.0.0.2"}}
	p, err := plan.Make(context.Background(), plan.Spec{ServersPerNode: 3, Servers: 3, Clients: 1}, nodes)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"10.0.0.1:8080", "10.0.0.1:8081", "10.0.0.1:8082", ""} {
		if got := p.Places[i].Listen; got != want {
			t.Errorf("%s listens at %q, want %q", p.Places[i].Name, got, want)
		}
	}
	nodes[0].Addr, nodes[1].Name = "10.0.0.9", "a"
	if _, err := plan.Make(context.Background(), plan.Spec{ServersPerNode: 2, Servers: 4, Symmetric: true}, nodes); err == nil || !strings.Contains(err.Error(), "two servers would be called a-0") {
		t.Errorf("error %v, want one that names the name", err)
	}
}
