package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kvlab/internal/redistest"
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

// A foreign store stands beside the same clients against a server that speaks its protocol and
// has no store. Where there is none, the result says so.
func TestForeignCeilings(t *testing.T) {
	inCI(t)
	redistest.Need(t, "redis-server", "memcached")
	t.Parallel()
	for _, test := range []struct{ target, want string }{
		{"redis", "RESP"}, {"redis-cluster", "RESP"}, {"memcached", "memcached's text protocol"}, {startServer(t, ""), "net/rpc with gob"},
	} {
		t.Run(test.want, func(t *testing.T) {
			t.Parallel()
			root, out := build(t), t.TempDir()
			said, err := exec.Command(filepath.Join(root, "bin", "kvscluster"), "--local", "--out", out, "--target", test.target,
				"--records", "5000", "--workers", "4", "--rate", "2k", "--warmup", "0", "--secs", "2").CombinedOutput()
			share := regexp.MustCompile(`\d+ % of what ` + test.want + ` allows`)
			if words := strings.Join(strings.Fields(string(said)), " "); err != nil || !share.MatchString(words) || !strings.HasSuffix(words, " verdict VALID") {
				t.Fatalf("%v, want %s:\n%s", err, share, said)
			}
			run, null := readRun(t, filepath.Join(out, "latest")), readRun(t, filepath.Join(out, "latest", "ceiling-null"))
			if run.Ceiling.NullOpsPerS != null.OpsPerS || null.Verdict.Check != "ceiling" || run.Ceiling.Headroom <= 1 {
				t.Errorf("ceiling %+v, of a run with %v ops/s, %v", run.Ceiling, null.OpsPerS, null.Verdict)
			}
		})
	}
	said, err := exec.Command(filepath.Join(build(t), "bin", "kvsserver"), "-target", "etcd", "-engine", "null").CombinedOutput()
	if want := "-engine null: kvlab has no server that speaks as etcd does and has no store\n"; err == nil || !strings.HasSuffix(string(said), want) {
		t.Errorf("%v, want %q:\n%s", err, want, said)
	}
}
