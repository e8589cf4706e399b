package replayed

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/trace"
)

// planOf returns the plan of a trace of 1000 operations, nine reads and a write of each key in turn.
func planOf(t *testing.T, loop bool) *workload.Plan {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.kvt")
	b, err := trace.Create(path, "test", 1e9)
	for i := range 1000 {
		in := trace.Input{Command: trace.Get, Name: "get", Key: fmt.Appendf(nil, "%d", i/10), Size: 100, Times: 1, Tick: uint32(i / 100)}
		if i%10 == 9 {
			in.Command, in.Name = trace.Set, "set"
		}
		if err == nil {
			err = b.Add(in)
		}
	}
	if err == nil {
		_, err = b.Close("")
	}
	c := workload.DefaultConfig()
	c.Replay, c.ReplayLoop = path, loop
	plan, wrong := workload.New(c)
	if err != nil || wrong != nil {
		t.Fatal(err, wrong)
	}
	return plan
}

// runOf returns a run of two clients with two workers each, of which each drew some operations and
// verified them. A rate of 0 is a closed loop.
func runOf(plan *workload.Plan, drawn uint64, rate float64, closesS int64) metrics.Run {
	run := metrics.Run{Nodes: []metrics.RunNode{{Role: metrics.Server, Name: "server"}}}
	for node := range 2 {
		s := &metrics.Summary{}
		var kinds [workload.Kinds]uint64
		for worker := range 2 {
			s.Workers = append(s.Workers, metrics.WorkerAccount{Drawn: drawn})
			for kind, n := range plan.Kinds(workload.Place{Node: node, Nodes: 2, Worker: worker, Workers: 2}, drawn) {
				kinds[kind] += n
			}
		}
		s.Peers = []metrics.PeerCounts{{Counts: metrics.Counts{Gets: kinds[workload.Read], Puts: kinds[workload.Update]}}}
		if rate > 0 {
			s.Offered = &metrics.Offered{RunOpsPerS: rate, ClosesNs: closesS * 1e9}
		}
		run.Nodes = append(run.Nodes, metrics.RunNode{Role: metrics.Client, Name: fmt.Sprint("client", node), Summary: s})
	}
	return run
}

// An honest replay passes; one that sends an operation as another kind, or drops one, does not.
func TestJudge(t *testing.T) {
	once, loop := planOf(t, false), planOf(t, true)
	unequal := runOf(loop, 5000, 0, 0)
	fewer := &unequal.Nodes[1].Summary.Workers[0]
	before := loop.Kinds(workload.Place{Nodes: 2, Workers: 2}, fewer.Drawn)
	fewer.Drawn /= 3
	after := loop.Kinds(workload.Place{Nodes: 2, Workers: 2}, fewer.Drawn)
	unequal.Nodes[1].Summary.Peers[0].Counts.Gets -= before[workload.Read] - after[workload.Read]
	unequal.Nodes[1].Summary.Peers[0].Counts.Puts -= before[workload.Update] - after[workload.Update]
	for _, test := range []struct {
		name string
		plan *workload.Plan
		run  metrics.Run
		lie  func(*metrics.Counts)
		want string // "" for a run that passes; caveat for one that is doubted
	}{
		{"a closed loop", once, runOf(once, 100, 0, 0), nil, ""},
		{"a trace that begins again", loop, runOf(loop, 5000, 0, 0), nil, ""},
		{"workers that keep no step", loop, unequal, nil, "caveat"},
		{"an open loop", once, runOf(once, 100, 100, 9), nil, ""},
		{"an open loop of a trace that begins again", loop, runOf(loop, 5000, 100, 90), nil, ""},
		{"a read as a write", once, runOf(once, 100, 0, 0), func(c *metrics.Counts) { c.Gets--; c.Puts++ }, "s were verified, the trace has "},
		{"a dropped write", once, runOf(once, 100, 0, 0), func(c *metrics.Counts) { c.Puts-- }, "updates were verified, the trace has "},
		{"a read too many", loop, runOf(loop, 5000, 0, 0), func(c *metrics.Counts) { c.Gets++ }, "reads were verified, the trace has "},
		{"a trace that ended", once, runOf(once, 400, 0, 0), nil, ""},
	} {
		if test.lie != nil {
			test.lie(&test.run.Nodes[2].Summary.Peers[0].Counts)
		}
		f := Judge(test.run, test.plan)
		if test.want == "caveat" {
			if f.Outcome != metrics.CheckDoubted {
				t.Errorf("%s: %+v, want a caveat", test.name, f)
			}
			continue
		}
		if failed := f.Outcome == metrics.CheckFailed; failed != (test.want != "") || !strings.Contains(f.Evidence, test.want) {
			t.Errorf("%s: %+v, want %q", test.name, f, test.want)
		}
	}
}
