package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kvlab/metrics"
)

// The quick self-test passes over real programs, whatever else the machine does: it
// asks for delays that were made, which nothing can shorten.
func TestQuickSelfTest(t *testing.T) {
	inCI(t)
	t.Parallel()
	root, out := build(t), t.TempDir()
	text, err := exec.Command(filepath.Join(root, "bin", "kvscluster"), "--local", "--out", out, "--selftest=quick").Output()
	if err != nil || !bytes.HasSuffix(text, []byte("\nverdict VALID\n")) {
		t.Fatalf("%v\n%s", err, text)
	}
	var record struct {
		Form   string
		Trials int
		Checks []struct{ Passed bool }
	}
	read(t, filepath.Join(out, "latest", "selftest.json"), &record)
	var run metrics.Run
	read(t, filepath.Join(out, "latest", "trial-001", "run.json"), &run)
	want := 5
	if run.Latency[metrics.OpLatency].Refused != "" { // a stall at the window's end leaves no p99 to check
		want = 4
	}
	if record.Form != "quick" || record.Trials != 4 || len(record.Checks) != want || bytes.Count(text, []byte("  yes\n")) != want {
		t.Errorf("selftest.json: %+v", record)
	}
	if run.Verdict.Valid || !strings.HasPrefix(run.Verdict.Reason, "-inject makes the servers' speed faulty") {
		t.Errorf("the verdict on servers that pause: %+v", run.Verdict)
	}
}

// An interrupt ends the self-test, and leaves nothing.
func TestInterruptedSelfTest(t *testing.T) {
	inCI(t)
	t.Parallel()
	root, out := build(t), t.TempDir()
	var stdout bytes.Buffer
	cmd := exec.Command(filepath.Join(root, "bin", "kvscluster"), "--local", "--out", out, "--selftest")
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	waitFor(t, filepath.Join(out, "latest", "trial-001", "kvsserver-node0.log"), "ops/s")
	cmd.Process.Signal(syscall.SIGINT)
	err := cmd.Wait()
	if cmd.ProcessState.ExitCode() != 130 || !strings.HasSuffix(stdout.String(), "\nverdict INVALID(interrupted)\n") {
		t.Errorf("exit status %d (%v), output %q", cmd.ProcessState.ExitCode(), err, stdout.String())
	}
}

// read reads a JSON file.
func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
