package metrics

import (
	"reflect"
	"testing"
)

func TestTrialOf(t *testing.T) {
	p50, p99, op50, op99 := 10.0, 20.0, 30.0, 40.0
	client := func(sent, received uint64) RunNode {
		return RunNode{Role: Client, Summary: &Summary{BytesInWindow: Bytes{Sent: sent, Received: received}}}
	}
	run := Run{
		Ops: 100, WindowS: 2, OpsPerS: 50, Workload: map[string]string{"workers": "8"},
		Nodes:   []RunNode{{Role: Server}, client(1000, 9000), client(500, 500), {Role: Client}},
		Latency: map[string]Quantiles{CallLatency: {P50: &p50, P99: &p99}, OpLatency: {P50: &op50, P99: &op99}}, Offered: &Offered{OpsPerS: 55},
		Verdict: Verdict{Reason: "r", Node: "n"},
	}
	want := Trial{
		Planned: Planned{Number: 3, Point: []string{"1"}}, Folder: "f", Servers: 1, Clients: 3, Workers: 8,
		Ops: 100, WindowS: 2, OpsPerS: 50, P50: &p50, P99: &p99, OpP50: &op50, OpP99: &op99, OfferedOpsPerS: 55, BytesPerOpSent: 15, BytesPerOpReceived: 95, Verdict: run.Verdict,
	}
	if got := TrialOf(want.Planned, "f", run); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := TrialOf(want.Planned, "f", Run{}); got.BytesPerOpSent != 0 || got.P50 != nil || got.Workers != 0 {
		t.Errorf("a run that never began: %+v", got)
	}
}
