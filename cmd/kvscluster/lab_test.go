package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"kvlab/internal/labtest"
	"kvlab/metrics"
)

// labRun measures a server of the course, and returns its run.
func labRun(t *testing.T, preset string, fault labtest.Fault, seed int) metrics.Run {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	target, _ := json.Marshal(map[string]string{"driver": "lab", "preset": preset, "run": fmt.Sprintf("%s %s {port} %s %s %d", self, labtest.Word, preset, fault, seed)})
	out := t.TempDir()
	cmd := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), "--local", "--no-ceiling", "--out", out, "--secs", "2", "--target", string(target),
		"--client-args", fmt.Sprintf("-linearizable -workload YCSB-A -records 2000 -workers 4 -batch 64 -rate 20k -warmup 0 -seed %d", seed))
	if text, err := cmd.CombinedOutput(); (err == nil) != (fault == labtest.None) {
		t.Errorf("%v\n%s", err, text)
	}
	return readRun(t, filepath.Join(out, "latest"))
}

// Servers of several forms are measured, and their results say that nobody else counted.
func TestLab(t *testing.T) {
	inCI(t)
	t.Parallel()
	for _, preset := range []string{"base", "clawcodes", "citywatch", "haoren"} {
		t.Run(preset, func(t *testing.T) {
			t.Parallel()
			if run := labRun(t, preset, labtest.None, 1); !run.Verdict.Valid || run.Ops == 0 || run.Counting != metrics.CountsNone {
				t.Errorf("verdict %v, %d operations, counts %s", run.Verdict, run.Ops, run.Counting)
			}
		})
	}
}

// A server that is wrong now and then makes a run invalid, and the verdict says how.
func TestLabFaults(t *testing.T) {
	seeds := 1
	if os.Getenv("KVLAB_LONG") == "1" {
		seeds = 20
	} else {
		inCI(t)
	}
	t.Parallel()
	const old = `not linearizable|the audit found .* a write is lost, or an old value was read`
	for fault, reason := range map[labtest.Fault]string{
		labtest.Lost:  old,
		labtest.Stale: old,
		labtest.Wrong: `(\d+ results? failed verification|load: .* are wrong)`,
	} {
		for seed := range seeds {
			run := labRun(t, []string{"clawcodes", "base"}[seed%2], fault, seed+1)
			if v := run.Verdict; v.Valid || !regexp.MustCompile(reason).MatchString(v.String()) {
				t.Errorf("%s, seed %d: verdict %v, want %s", fault, seed+1, v, reason)
			}
		}
	}
}
