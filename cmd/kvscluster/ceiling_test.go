package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"kvlab/metrics"
)

// apart is the note on a ceiling of which one client began late, on a busy machine.
var apart = regexp.MustCompile(`^no in process: INVALID\(the clients' windows share [^()]* of the shortest, not 95 % \(did one begin late\?\)\)$`)

// The ceilings of a real run of two servers and two clients: their servers have no
// store, or there are none, and neither changes the run's own result.
func TestCeiling(t *testing.T) {
	inCI(t)
	t.Parallel()
	root, out := build(t), t.TempDir()
	text, err := exec.Command(filepath.Join(root, "bin", "kvscluster"), "--local", "--secs", "4", "--out", out, "--server-args", "-engine slab",
		"--client-args", "-records 3000 -workers 4 -batch 64 -warmup 0 -workload YCSB-A -linearizable -rate 20k", "2", "2").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	dir := filepath.Join(out, "latest")
	run, null, inproc := readRun(t, dir), readRun(t, filepath.Join(dir, "ceiling-null")), readRun(t, filepath.Join(dir, "ceiling-inproc"))
	c := run.Ceiling
	if !run.Verdict.Valid || c == nil || c.NullOpsPerS != null.OpsPerS || c.WireOpsPerS <= 0 {
		t.Fatalf("verdict %v, ceiling %+v", run.Verdict, c)
	}
	if all := c.InprocOpsPerS == inproc.OpsPerS && c.Note == ""; !all && !apart.MatchString(c.Note) {
		t.Fatalf("ceiling %+v, in process %v ops/s", c, inproc.OpsPerS)
	}
	// An open loop of 20k ops/s is far below what four workers make in a closed one.
	if c.Headroom <= 1 || run.Offered == nil || null.Offered != nil || inproc.Offered != nil {
		t.Errorf("headroom %v; offered %v, %v, %v", c.Headroom, run.Offered, null.Offered, inproc.Offered)
	}
	anyKey := func(run metrics.Run) (sum uint64) {
		for _, node := range run.Nodes {
			sum += node.Summary.Verification.AnyKey
		}
		return sum
	}
	if n := anyKey(run) + anyKey(inproc); n > 0 || anyKey(null) == 0 {
		t.Errorf("%d values without a key, %d of the null engine's", n, anyKey(null))
	}
	for _, node := range inproc.Nodes {
		if f := node.Config.Flags; f["engine"] != "slab" || f["transport"] != "inproc" || f["records"] != "1500" {
			t.Errorf("%s in process: engine %s, transport %s, %s records", node.Name, f["engine"], f["transport"], f["records"])
		}
	}
}
