package metrics

import "testing"

func TestCPUPerOp(t *testing.T) {
	node := func(role Role, percent, seconds float64, ops uint64) RunNode {
		return RunNode{Role: role, Summary: &Summary{WindowLengthS: seconds, InWindow: Counts{Gets: ops}, Saturation: &Saturation{ProcessCPUPercent: percent}}}
	}
	run := Run{Nodes: []RunNode{node(Server, 50, 2, 1000), node(Server, 150, 2, 3000), node(Client, 100, 1, 500)}}
	// Two servers: 1 s and 3 s for 4000 operations; the client: 1 s for 500.
	for _, test := range []struct {
		roles []Role
		want  float64
	}{{[]Role{Server}, 1e6}, {[]Role{Client}, 2e6}, {[]Role{Server, Client}, 3e6}} {
		if got := run.CPUPerOp(test.roles...); got != test.want {
			t.Errorf("%v: %v ns, want %v", test.roles, got, test.want)
		}
	}
	run.Nodes[1].Summary.Saturation = nil
	if got := run.CPUPerOp(Server, Client); got != 0 {
		t.Errorf("with a silent node: %v ns", got)
	}
}
