package cluster

import (
	"context"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/experiment"
	"kvlab/kvs/verdict"
	"kvlab/metrics"
)

// Of fake nodes the rates are invented, and the order, the arguments and the
// arithmetic are real.
func TestCeilingComesFirst(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.ceiling = true
	err := tr.Run(context.Background(), []string{"2", "2", "-fake-clients node2,node3 -engine slab -exec-trace t", "-rate 5 -linearizable -batch 7", "--out", tr.out})
	if err != nil {
		t.Fatalf("Run: %v\n%s%s", err, tr.stdout.String(), tr.stderr.String())
	}
	run := tr.runJSON(t)
	c := run.Ceiling
	if c == nil || c.NullOpsPerS <= 0 || c.InprocOpsPerS <= 0 || c.WireOpsPerS <= 0 || c.Note != "" || math.Abs(c.Headroom-c.NullOpsPerS/run.OpsPerS) > 1e-9 {
		t.Fatalf("ceiling %+v of a run of %v ops/s", c, run.OpsPerS)
	}
	if !strings.Contains(tr.stdout.String(), "\n"+c.String()+"\n") {
		t.Errorf("output has no %q:\n%s", c, tr.stdout.String())
	}
	null, inproc, wire := ceilingJSON(t, tr, "null"), ceilingJSON(t, tr, "inproc"), ceilingJSON(t, tr, "wire")
	if null.OpsPerS != c.NullOpsPerS || len(null.Nodes) != 4 || inproc.OpsPerS != c.InprocOpsPerS || len(inproc.Nodes) != 2 {
		t.Errorf("null %v with %d nodes, inproc %v with %d", null.OpsPerS, len(null.Nodes), inproc.OpsPerS, len(inproc.Nodes))
	}
	if ended := inproc.Nodes[0].Summary.WindowStart; !null.Nodes[2].Summary.WindowStart.Before(ended) || !ended.Before(run.WindowStart) {
		t.Error("the windows are not in the order null, in process, run")
	}
	const short = " -warmup -secs"
	lengths := regexp.MustCompile(`(-warmup|-secs)=[0-9.]+`)
	for node, want := range map[string]string{
		"null 0":   "-fake-clients node2,node3 -engine=null",
		"null 3":   "-batch 7 -linearizable=false" + short,
		"wire 0":   "-fake-clients node2,node3 -engine=null -repeat",
		"wire 3":   "-batch 7 -linearizable=false -repeat" + short,
		"inproc 1": "-batch 7 -linearizable=false -transport=inproc -engine=syncmap -cache=0 -client=0 -clients=1 -records=2" + short,
	} {
		nodes := map[string]metrics.Run{"n": null, "i": inproc, "w": wire}[node[:1]].Nodes
		args := lengths.ReplaceAllString(strings.Join(nodes[node[len(node)-1]-'0'].Config.Args, " "), "$1")
		if strings.Contains(args, "-rate") || !strings.HasSuffix(strings.ReplaceAll(args, "-linearizable -batch 7", "-batch 7"), want) {
			t.Errorf("%s: %s\nwant at the end %s", node, args, want)
		}
	}
	if args := strings.Join(run.Nodes[0].Config.Args, " "); !strings.HasSuffix(args, "-engine slab -exec-trace t") {
		t.Errorf("the run's own server: %s", args)
	}
	tr.checkGone(t, 4)
}

// ceilingJSON returns the run.json of one of the two runs of a ceiling, which is never
// a result.
func ceilingJSON(t *testing.T, tr *testRun, name string) (run metrics.Run) {
	t.Helper()
	if err := json.Unmarshal([]byte(tr.read(t, "ceiling-"+name+"/run.json")), &run); err != nil {
		t.Fatal(err)
	}
	if run.Verdict.Check != verdict.Ceiling {
		t.Errorf("verdict on %s: %v", name, run.Verdict)
	}
	return run
}

// The stores of the clients in process must leave half of a machine's free memory.
func TestInprocPlanFitsMemory(t *testing.T) {
	plan := plan.Plan{Places: []plan.Place{
		{Name: "node0", Role: metrics.Server}, {Name: "node1", Role: metrics.Server}, {Name: "node1", Role: metrics.Client}, {Name: "node2", Role: metrics.Client},
	}}
	machine := func(free uint64) *metrics.Preflight {
		facts := &metrics.Facts{Host: metrics.Host{MemoryAvailableBytes: free}}
		return &metrics.Preflight{Machines: []metrics.Machine{{Nodes: []string{"m", "m", "m"}, Roles: []metrics.Role{metrics.Server, metrics.Client, metrics.Client}, Facts: facts}}}
	}
	inProcess := experiment.CeilingsOf(map[metrics.Role]metrics.Settings{
		metrics.Server: {"engine": "slab"}, metrics.Client: {"records": "2001", "value-size": "800"},
	}, 2)[1]
	got, err := overlaid(plan, inProcess, machine(4_004_000)) // 2 clients x 1001 records x (800 + 200) bytes, twice
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Places) != 2 || len(plan.Places) != 4 || !slices.Contains(got.ClientArgs, "-records=1001") {
		t.Errorf("plan %+v", got)
	}
	if _, err := overlaid(plan, inProcess, machine(4_003_999)); err == nil || !strings.Contains(err.Error(), "of stores on m") {
		t.Errorf("error %v, want one that says what does not fit where", err)
	}
	if _, err := overlaid(plan, inProcess, new(metrics.Preflight)); err != nil {
		t.Error(err)
	}
}
