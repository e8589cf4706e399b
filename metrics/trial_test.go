package metrics

import (
	"reflect"
	"testing"

	"kvlab/metrics/stats"
)

func TestTrialOf(t *testing.T) {
	p50, p99, op50, op95, op99, op999, late := 10.0, 20.0, 30.0, 35.0, 40.0, 45.0, 5.0
	client := func(ops, sent, received uint64) RunNode {
		return RunNode{Role: Client, Summary: &Summary{InWindow: Counts{Gets: ops}, BytesInWindow: Bytes{Sent: sent, Received: received}}}
	}
	run := Run{
		Result: Result{Ops: 100, WindowS: 2, OpsPerS: 50, Verdict: Verdict{Reason: "r", Node: "n"}}, Workload: map[string]string{"workers": "8"},
		Nodes:   []RunNode{{Role: Server}, client(60, 1000, 9000), client(40, 500, 500), {Role: Client}},
		Latency: map[string]Quantiles{CallLatency: {P50: &p50, P99: &p99}, OpLatency: {P50: &op50, P95: &op95, P99: &op99, P999: &op999}, Lateness: {P99: &late}}, Offered: &Offered{OpsPerS: 55},
		Ceiling: &Ceiling{Headroom: 1.2, ClientBound: true}, Bottleneck: &Bottleneck{Kind: LimitClientCPU}, WarmUp: &stats.Stationarity{},
	}
	want := Trial{
		PlannedTrial: PlannedTrial{Number: 3, Point: []string{"1"}}, Folder: "f", Result: run.Result, Servers: 1, Clients: 3, Workers: 8,
		P50: &p50, P99: &p99, OpP50: &op50, OpP95: &op95, OpP99: &op99, OpP999: &op999, LateP99: &late, OfferedOpsPerS: 55, BytesPerOpSent: 15, BytesPerOpReceived: 95,
		NonStationary: true, Headroom: 1.2, ClientBound: true, Bottleneck: LimitClientCPU, Run: &run,
	}
	if got := TrialOf(want.PlannedTrial, "f", run); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := want.Stamps(), []string{"NON-STATIONARY", "CLIENT-BOUND"}; !reflect.DeepEqual(got, want) {
		t.Errorf("stamps %q, want %q", got, want)
	}
	if got := TrialOf(want.PlannedTrial, "f", Run{}); got.BytesPerOpSent != 0 || got.P50 != nil || got.Workers != 0 {
		t.Errorf("a run that never began: %+v", got)
	}
}

// The links' rate is the slowest machine's, the lab's where there is one, and
// unknown when any is.
func TestTrialLinkRate(t *testing.T) {
	machines := func(rates ...uint64) *Preflight {
		p := new(Preflight)
		for _, rate := range rates {
			p.Machines = append(p.Machines, Machine{Facts: &Facts{Data: Link{BitsPerS: rate}}})
		}
		return p
	}
	unasked := machines(10e9, 10e9)
	unasked.Machines[1].Facts = nil
	for _, test := range []struct {
		name string
		run  Run
		want uint64
	}{
		{"no preflight", Run{}, 0},
		{"one machine", Run{Preflight: machines(10e9)}, 0},
		{"equal", Run{Preflight: machines(10e9, 10e9)}, 10e9},
		{"one slower", Run{Preflight: machines(25e9, 10e9, 25e9)}, 10e9},
		{"one unknown", Run{Preflight: machines(25e9, 0)}, 0},
		{"one unasked", Run{Preflight: unasked}, 0},
		{"lab", Run{Preflight: machines(10e9, 10e9), Lab: &Lab{Hosts: 2, LinkBitsPerS: 1e9}}, 1e9},
	} {
		if got := TrialOf(PlannedTrial{}, "f", test.run).LinkBitsPerS; got != test.want {
			t.Errorf("%s: %d bit/s, want %d", test.name, got, test.want)
		}
	}
}
