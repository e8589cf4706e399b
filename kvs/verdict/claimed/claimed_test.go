package claimed

import (
	"strings"
	"testing"

	"kvlab/metrics"
)

// honest returns a run of one client that claims what its server's lines tell of.
func honest() *metrics.Run {
	hosts := &metrics.Capabilities{Driver: metrics.ClaimsDriver}
	node := func(name string, role metrics.Role, c metrics.Claimed) metrics.RunNode {
		return metrics.RunNode{
			Name: name, Role: role, Summary: &metrics.Summary{Claim: &c},
			Config: &metrics.Config{Flags: metrics.Settings{"secs": "10"}, Capabilities: hosts},
		}
	}
	return &metrics.Run{Nodes: []metrics.RunNode{
		node("node0", metrics.Server, metrics.Claimed{Lines: 12, Ops: 10_100, Most: 12_000}),
		node("node1", metrics.Client, metrics.Claimed{
			Lines: 1, OpsPerS: 1000, RanS: 10.2, CPUS: 2,
			Carried: &metrics.Carried{Connections: 1, Bytes: metrics.Bytes{Sent: 350_000, Received: 300_000}},
		}),
	}}
}

// Each lie is refuted by its name, and an honest claim stands.
func TestClaims(t *testing.T) {
	type claim = *metrics.Claimed
	for _, test := range []struct {
		name string
		lie  func(server, client claim)
		want string // "" for a claim that stands
	}{
		{"honest", func(_, _ claim) {}, ""},
		{"silent servers", func(s, _ claim) { *s = metrics.Claimed{} }, ""},
		{"a kernel that does not tell", func(_, c claim) { c.Carried = nil }, ""},
		{"calls in flight at the end that are not counted", func(s, c claim) { s.After, c.Carried.Unread = 900, 5000 }, ""},
		{"no result", func(_, c claim) { c.Lines, c.OpsPerS = 0, 0 }, "claim-lines"},
		{"three times too high", func(_, c claim) { c.OpsPerS *= 3 }, "claim-above-servers"},
		{"just above", func(_, c claim) { c.OpsPerS = 1201 }, "claim-above-servers"},
		{"answers that nobody read", func(_, c claim) { c.OpsPerS, c.Carried.Unread = 3000, 40 }, "claim-never-waits"},
		{"servers that go on", func(s, c claim) { s.After, c.OpsPerS = 800, 3000 }, "claim-never-waits"},
		{"more than the wire carried", func(s, c claim) { *s, c.OpsPerS = metrics.Claimed{}, 35_001 }, "claim-above-wire"},
		{"more than its processor can", func(s, c claim) { *s, c.Carried, c.CPUS = metrics.Claimed{}, nil, 9e-7 }, "claim-above-processors"},
		{"a client that ended early", func(_, c claim) { c.RanS = 9.9 }, "claim-longer-than-run"},
	} {
		run := honest()
		test.lie(run.Nodes[0].Summary.Claim, run.Nodes[1].Summary.Claim)
		v := Judge(run)
		if v.Valid || v.Claimed != (test.want == "") || v.Check != test.want || !strings.HasPrefix(v.Reason, test.want) {
			t.Errorf("%s: %+v, want %q", test.name, v, test.want)
		}
		if n := len(run.Checks); v.Claimed && n != len(Checks) || n == 0 || (run.Checks[n-1].Outcome == metrics.CheckFailed) == v.Claimed {
			t.Errorf("%s: checks %+v", test.name, run.Checks)
		}
	}
	run := honest()
	*run.Nodes[1].Summary.Claim = metrics.Claimed{Result: "done ([0-9]+)", Line: "throughput 9", RanS: 0.04}
	want := `claim-lines: no line matches the file's result = "done ([0-9]+)": team-node1.log: the client ended after 0.0 s with exit status 0, and its last line is "throughput 9"`
	if v := Judge(run); v.Reason != want {
		t.Errorf("%s, want %s", v.Reason, want)
	}
	run = honest()
	run.Nodes[1].Summary = nil
	if v := Judge(run); v.Check != "claim-reports" || v.Node != "node1" {
		t.Errorf("without a summary: %+v", v)
	}
}
