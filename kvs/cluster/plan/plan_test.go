package plan

import (
	"context"
	"slices"
	"strings"
	"testing"

	"kvlab/kvs/cluster/nodes"
	"kvlab/metrics"
)

func TestPlan(t *testing.T) {
	ctx := context.Background()
	found := []nodes.Node{
		{Name: "a", Addr: "10.0.0.1"}, {Name: "b", Addr: "10.0.0.2"},
		{Name: "c", Addr: "fd00::1"}, {Name: "d", Addr: "10.0.0.9"},
	}
	plan, err := Make(ctx, Spec{Servers: 3, Secs: 7, ClientArgs: []string{"-x", "1 2"}}, found)
	if err != nil {
		t.Fatal(err)
	}
	var listens []string
	for _, p := range plan.Places {
		listens = append(listens, p.Listen)
	}
	if want := []string{"10.0.0.1:8080", "10.0.0.2:8080", "[fd00::1]:8080", ""}; !slices.Equal(listens, want) || plan.Local {
		t.Errorf("servers listen at %q, want %q", listens, want)
	}
	want := []string{"-node", "d", "-hosts", "h:1,h:2", "-client", "0", "-clients", "1", "-x", "1 2", "-secs", "7"}
	if got := plan.Args(plan.Places[3], 0, []string{"h:1", "h:2"}); !slices.Equal(got, want) {
		t.Errorf("client's arguments %q, want %q", got, want)
	}
	found[1].Addr = "10.0.0.1"
	if _, err := Make(ctx, Spec{Servers: 3}, found); err == nil || !strings.Contains(err.Error(), "nodes a and b have one data address, 10.0.0.1: each needs its own") {
		t.Errorf("two nodes of one address: %v", err)
	}
	if plan.Count(metrics.Server) != 3 || plan.Places[0].Program() != "kvsserver" || plan.Places[3].Program() != "kvsclient" {
		t.Errorf("plan %+v", plan)
	}
}
