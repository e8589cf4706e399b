package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"kvlab/internal/fakenode"
	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
	"kvlab/plots"

	"golang.org/x/perf/benchfmt"
)

// testRun is one run of the real launcher over fake nodes on this machine.
type testRun struct {
	*Launcher
	out            string
	stdout, stderr safeBuffer
	ceiling        bool // measure it first, as a user's run does
	brief          bool // print the answer only, as a user's run does
}

// Run is the launcher's, without a ceiling unless that is the point.
func (tr *testRun) Run(ctx context.Context, args []string) error {
	if !tr.ceiling && !plan.HasFlag(args, "resume") {
		args = append(slices.Clone(args), "--no-ceiling")
	}
	if !tr.brief {
		args = append(slices.Clone(args), "-v")
	}
	return tr.Launcher.Run(ctx, args)
}

// safeBuffer may be read while the launcher writes.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newTrial(t testing.TB) *testRun {
	t.Helper()
	tr := &testRun{out: t.TempDir()}
	tr.Launcher = fakeLauncher(t.TempDir(), &tr.stdout, &tr.stderr)
	return tr
}

// fakeLauncher returns the real launcher over fake nodes.
func fakeLauncher(root string, stdout, stderr io.Writer) *Launcher {
	program := os.Getenv(programVariable)
	l := New(root, filepath.Join(root, "bin"), stdout, stderr)
	l.Programs = plan.Programs{metrics.Server: program, metrics.Client: program}
	l.Testbed = nodes.Testbed{Tmcc: "/nonexistent/tmcc", GeniGet: "/nonexistent/geni-get"}
	l.Slurm = nodes.Slurm{}
	l.timeouts.Silence = 5 * time.Second
	l.timeouts.Leave = time.Second
	l.timeouts.Exit = 5 * time.Second
	l.timeouts.Grace = 300 * time.Millisecond
	l.Draw = func(string) ([]string, error) { return nil, nil } // slow with -race
	return l
}

// run runs 2 servers and 2 clients with faults for each.
func (tr *testRun) run(ctx context.Context, faults ...string) error {
	words := "-fake-clients node2,node3 " + strings.Join(faults, " ")
	return tr.Run(ctx, []string{"2", "2", words, strings.Join(faults, " "), "--out", tr.out})
}

func (tr *testRun) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tr.out, "latest", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (tr *testRun) runJSON(t *testing.T) metrics.Run {
	t.Helper()
	var run metrics.Run
	if err := json.Unmarshal([]byte(tr.read(t, "run.json")), &run); err != nil {
		t.Fatal(err)
	}
	return run
}

var pidLine = regexp.MustCompile(`(?m)^pid ([0-9]+)$`)

// checkGone fails when a node's process is still there.
func (tr *testRun) checkGone(t *testing.T, nodes int) {
	t.Helper()
	if err := checkGone(filepath.Join(tr.out, "latest"), nodes); err != nil {
		t.Error(err)
	}
}

// checkGone returns an error if a folder has not one log for each node, or if a process whose
// pid is in a log still runs.
func checkGone(dir string, nodes int) error {
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) != nodes {
		return fmt.Errorf("%d logs (%v), want %d", len(logs), err, nodes)
	}
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			return err
		}
		match := pidLine.FindSubmatch(text)
		if match == nil {
			continue // not started
		}
		if pid, _ := strconv.Atoi(string(match[1])); !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return fmt.Errorf("%s: process %d is still there", filepath.Base(log), pid)
		}
	}
	return nil
}

func TestValidRun(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.Draw = plots.Pages(nil).Draw
	if err := tr.run(context.Background()); err != nil {
		t.Fatalf("Run: %v\n%s%s", err, tr.stdout.String(), tr.stderr.String())
	}
	if _, err := os.Stat(filepath.Join(tr.out, "latest", "report.html")); err != nil {
		t.Error(err)
	}
	tr.checkGone(t, 4)
	run := tr.runJSON(t)
	if !run.Verdict.Valid || run.Seed != 42 || run.Ops != 2*940 || run.Total != run.Applied || run.Total.Gets != 4*fakenode.Pair.Gets {
		t.Errorf("run.json: verdict %v seed %d ops %d total %v applied %v", run.Verdict, run.Seed, run.Ops, run.Total, run.Applied)
	}
	if run.OverlapShare < 0.95 || run.WindowS <= 0 || run.Workload["workload"] != "YCSB-B" {
		t.Errorf("run.json: overlap %v window %v workload %v", run.OverlapShare, run.WindowS, run.Workload)
	}
	out := tr.stdout.String()
	for _, want := range []string{`(?m)^node0 median 2000 op/s$`, `(?m)^node1 median 2000 op/s$`, `(?m)^total [0-9]+ op/s$`, `\nverdict VALID\n$`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("output has no %s:\n%s", want, out)
		}
	}
	tr.checkRecords(t)
	tr.checkSummary(t, run)
	if len(tokens(t, tr)) != 1 {
		t.Errorf("tokens %v, want one for all nodes", tokens(t, tr))
	}
}

// checkRecords reads the records back.
func (tr *testRun) checkRecords(t *testing.T) {
	t.Helper()
	text := tr.read(t, "kvsclient-node2.jsonl")
	var kinds []string
	for r, err := range metrics.ReadRecords("kvsclient-node2.jsonl", strings.NewReader(text)) {
		if err != nil {
			t.Error(err)
		}
		if r.Config != nil {
			kinds = append(kinds, "config")
		}
		if r.Summary != nil {
			kinds = append(kinds, "summary")
		}
	}
	if strings.Join(kinds, " ") != "config summary" {
		t.Errorf("records: %v", kinds)
	}
}

// checkSummary reads summary.txt the way benchstat does.
func (tr *testRun) checkSummary(t *testing.T, run metrics.Run) {
	t.Helper()
	reader := benchfmt.NewReader(strings.NewReader(tr.read(t, "summary.txt")), "summary.txt")
	results := 0
	for reader.Scan() {
		switch r := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Errorf("summary.txt: %v", r)
		case *benchfmt.Result:
			results++
			value, ok := r.Value("ops/s")
			if base := string(r.Name.Base()); base != "KVS" || !ok || value < run.OpsPerS-1 || value > run.OpsPerS+1 || r.GetConfig("cpu") != "Test CPU" {
				t.Errorf("summary.txt: %s %v ops/s, cpu %q; want %v", r.Name, value, r.GetConfig("cpu"), run.OpsPerS)
			}
		}
	}
	if err := reader.Err(); err != nil || results != 1 {
		t.Errorf("summary.txt: %d results, %v", results, err)
	}
}

func tokens(t *testing.T, tr *testRun) map[string]bool {
	found := make(map[string]bool)
	for _, name := range []string{"kvsserver-node0.log", "kvsserver-node1.log", "kvsclient-node2.log", "kvsclient-node3.log"} {
		match := regexp.MustCompile(`(?m)^token ([A-Z2-7]{26})$`).FindStringSubmatch(tr.read(t, name))
		if match == nil {
			t.Errorf("%s: no token of 128 bits", name)
			continue
		}
		found[match[1]] = true
	}
	return found
}

func TestFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault  string
		node   string
		reason string // regular expression
		status int
	}{
		{"node0:kill:start", "node0", `signal 9`, 1},
		{"node0:kill:ready", "node0", `signal 9`, 1},
		{"node1:kill:window", "node1", `signal 9`, 1},
		{"node1:kill:stop", "node1", `signal 9`, 1},
		{"node2:kill:start", "node2", `signal 9`, 1},
		{"node2:exit3:ready", "node2", `exit status 3`, 1},
		{"node3:exit3:load", "node3", `exit status 3`, 1},
		{"node3:exit0:warmup", "node3", `left before`, 1},
		{"node2:panic:window", "node2", `exit status 2`, 1},
		{"node2:kill:drain", "node2", `signal 9`, 1},
		{"node2:exit3:exit", "node2", `exit status 3`, 1},
		{"node0:error:start", "node0", `address already in use`, 1},
		{"node3:error:window", "node3", `address already in use`, 1},
		{"node2:restarted:window", "node0", `^server restarted: another instance$`, 1},
		{"node2:garbage:window", "node2", `no event: "{{{ no event"`, 1},
		{"node2:strange:window", "node2", `"dance" out of turn`, 1},
		{"node0:early:ready", "node0", `"done" out of turn`, 1},
		{"node1:hang:window", "node1", `sent nothing`, 1},
		{"node3:hang:load", "node3", `sent nothing`, 1},
		{"node2:pause:exit", "node2", `not gone within`, 1},
		{"node2:usage:start", "node2", `-theta 0`, 2},
		{"node2:no-summary", "node2", `no summary`, 1},
		{"node0:no-summary", "node0", `no summary`, 1},
		{"node2:one-more", "node2", `verified 951 gets of server node0, which applied 950`, 1},
		{"node1:one-more", "node2", `verified 950 gets of server node1, which applied 951`, 1},
		{"node1:lost-total", "node1", `do not add up`, 1},
		{"node3:miss", "node3", `3 misses`, 1},
		{"node3:lost", "", `the audit found 1 of \d+ reads wrong: key 3 \(popularity rank 4\) is missing, want the loaded value`, 1},
		{"node3:corrupt", "node3", `2 results failed verification, first: key 7`, 1},
		{"node3:other-time", "", `share 0.0 %`, 1},
		{"node2:no-ops", "node2", `0 operations`, 1},
	}
	for _, test := range tests {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t)
			err := tr.run(context.Background(), test.fault)
			if got := ExitStatus(err); got != test.status {
				t.Errorf("exit status %d, want %d (%v)", got, test.status, err)
			}
			tr.checkGone(t, 4)
			v := tr.runJSON(t).Verdict
			if v.Valid || v.Node != test.node || !regexp.MustCompile(test.reason).MatchString(v.Reason) {
				t.Errorf("verdict %v, want %q of %q", v, test.reason, test.node)
			}
			out := tr.stdout.String()
			if test.status == 1 && !strings.HasSuffix(out, "\nverdict "+v.String()+"\n") {
				t.Errorf("output does not end in the verdict:\n%s", out)
			}
			if strings.Contains(out, "total ") || strings.Contains(tr.read(t, "summary.txt"), "Benchmark") {
				t.Errorf("an invalid run shows a result:\n%s", out)
			}
		})
	}
}
