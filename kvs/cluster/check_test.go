package cluster

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/metrics"
)

// A port that is taken stops a run before anything is started; --preflight says so
// too, as a table and as JSON, and makes no folder.
func TestPreflightFailure(t *testing.T) {
	tr, _, _ := newRemoteTrial(t)
	taken, err := net.Listen("tcp", nodeIP(0)+":8080")
	if err != nil {
		t.Skipf("not free here: %v", err)
	}
	defer taken.Close()
	hosts := writeHosts(t, "node0 addr="+nodeIP(0), "node1 addr="+nodeIP(1))
	err = tr.Run(context.Background(), []string{"--hosts", hosts, "--out", tr.out})
	run := tr.runJSON(t)
	if v := run.Verdict; ExitStatus(err) != 1 || v.Node != "node0" || !strings.Contains(v.Reason, nodeIP(0)+":8080 is taken by process") {
		t.Errorf("verdict %v, %v", v, err)
	}
	logs, _ := filepath.Glob(filepath.Join(tr.out, "latest", "*.log"))
	if len(logs) != 0 || !run.Preflight.Failed() || len(run.Preflight.Machines) != 2 || run.Preflight.Machines[1].Facts == nil {
		t.Errorf("logs %q, preflight %+v", logs, run.Preflight)
	}
	if said := tr.stderr.String(); strings.Count(said, "is taken by") != 1 || !strings.Contains(said, "docs/cluster.md") {
		t.Errorf("the user is told:\n%s", said)
	}

	check, _, _ := newRemoteTrial(t)
	out := filepath.Join(check.out, "none")
	err = check.Run(context.Background(), []string{"--hosts", hosts, "--out", out, "--preflight", "--json"})
	var p metrics.Preflight
	if jsonErr := json.Unmarshal([]byte(check.stdout.String()), &p); jsonErr != nil || ExitStatus(err) != 1 || len(p.Failures()) != 1 {
		t.Errorf("--preflight --json: %v, %v, %s", err, jsonErr, check.stdout.String())
	}
	taken.Close()
	check, _, _ = newRemoteTrial(t)
	err = check.Run(context.Background(), []string{"--hosts", hosts, "--out", out, "--check"}) // its old name
	if text := check.stdout.String(); err != nil || !strings.Contains(text, nodeIP(1)) || !strings.Contains(text, "2 machines") {
		t.Errorf("--preflight: %v\n%s", err, text)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("--preflight has made a folder")
	}
}

// A node's programs are not put on a network file system: here stat says so.
func TestNoNFS(t *testing.T) {
	tr, _, _ := newRemoteTrial(t)
	stat := script(t, "stat", "echo 6969")
	t.Setenv("PATH", filepath.Dir(stat)+":"+os.Getenv("PATH"))
	err := tr.Run(context.Background(), []string{"--hosts", writeHosts(t, "node0 addr="+nodeIP(0), "node1 addr="+nodeIP(1)), "--preflight", "--out", tr.out})
	if ExitStatus(err) != 1 || !strings.Contains(tr.stdout.String(), "network file system") || !strings.Contains(tr.stdout.String(), "docs/cluster.md") {
		t.Errorf("%v\n%s", err, tr.stdout.String())
	}
}
