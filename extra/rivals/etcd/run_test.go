package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kvlab/kvs/driver"
	"kvlab/metrics"
)

// launch makes a run of 10^4 records with a target, and returns what it recorded and its
// last line.
func launch(t *testing.T, target string, args ...string) (run metrics.Run, verdict string) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("../../../run-cluster.sh", append([]string{"--local", "--target", target, "--out", dir, "--records", "10000",
		"--workers", "4", "--batch", "8", "--warmup", "0.5", "--secs", "1", "--no-ceiling"}, args...)...)
	out, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	verdict = lines[len(lines)-1]
	if !strings.HasPrefix(verdict, "verdict ") {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "latest", "run.json"))
	if err == nil {
		err = json.Unmarshal(text, &run)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", out)
	return run, verdict
}

// The launcher builds the programs of extra/rivals, starts the shipped etcd, and compares its
// counters with what the client verified.
func TestRun(t *testing.T) {
	path(t)
	for _, workload := range []string{"YCSB-A", "YCSB-D", "YCSB-F"} {
		run, verdict := launch(t, "etcd", "--workload", workload)
		if verdict != "verdict VALID" || run.Counting != metrics.CountsExact || run.StrangerReads != 0 {
			t.Errorf("%s: %s, counts %s, %d reads of third-party clients", workload, verdict, run.Counting, run.StrangerReads)
		}
		if s := run.Store; s == nil || s.Driver != "etcd" || s.Version == "" || s.Settings["quota-backend-bytes"] != "8589934592" {
			t.Errorf("%s: store %+v", workload, s)
		}
	}
}

// The versions of an etcd's keys, of which each is the number of its puts, add up to the
// writes of a run that left none out.
func TestVersions(t *testing.T) {
	s := start(t)
	run, verdict := launch(t, "etcd://"+s.addr, "--workload", "YCSB-A")
	kept, err := s.client(t).Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	versions := uint64(0)
	for _, kv := range kept.Kvs {
		versions += uint64(kv.Version)
	}
	var written uint64
	for _, client := range run.Summaries(metrics.Client) {
		written += client.Total.Puts
	}
	if verdict != "verdict VALID" || versions != written || len(kept.Kvs) != 10000 {
		t.Errorf("%s, %d keys with %d versions; want 10000 with %d", verdict, len(kept.Kvs), versions, written)
	}
}

// A stranger who writes to an etcd that runs already makes the run INVALID.
func TestStrangerWrites(t *testing.T) {
	s := start(t)
	other := s.client(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		for {
			if _, err := other.Put(ctx, "stranger", "value"); err != nil {
				ended <- err
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	_, verdict := launch(t, "etcd://"+s.addr)
	cancel()
	if err := <-ended; ctx.Err() == nil {
		t.Error(err)
	}
	if !strings.Contains(verdict, "INVALID(the store executed") || !strings.Contains(verdict, "a third-party client") {
		t.Errorf("%s, want INVALID with the third-party client", verdict)
	}
}

// An etcd that is killed in the run makes it INVALID.
func TestKilled(t *testing.T) {
	s := start(t)
	d := s.open(t, driver.Use{})
	killed := make(chan error)
	go func() {
		for { // until the run has read its records back
			c, err := d.(driver.Counter).Counts(t.Context(), 0)
			if err != nil || c.Counts.Gets > 15000 {
				killed <- errors.Join(err, s.process.Kill())
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	_, verdict := launch(t, "etcd://"+s.addr, "--secs", "3")
	if err := <-killed; err != nil {
		t.Error(err)
	}
	if !strings.Contains(verdict, "INVALID(") || !strings.Contains(verdict, s.addr) {
		t.Errorf("%s, want INVALID with %s", verdict, s.addr)
	}
}
