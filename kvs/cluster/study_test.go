package cluster

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kvlab/extra/study"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

const fakeStudy = `title = "Of fakes"
source = "nobody"
args = "1 1 --server-args '-fake-clients node1'"
[quick]
rounds = 3
[full]
rounds = 4
[[point]]
name = "small"
args = "--batch 1"
[[point]]
name = "large"
args = "--batch 9"
[[point]]
name = "never"
args = "--batch 10"
needs = ["nodes=99"]
[[claim]]
name = "larger"
text = "Large batches are at most a thousand times as fast."
kind = "at-most"
points = ["small", "large"]
value = 1000
[[claim]]
name = "cluster"
text = "A hundred nodes are fast."
kind = "order"
points = ["small", "never"]
`

func studyFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fakes.toml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A study says what it cannot test before it measures, and ends with the outcome of each
// claim.
func TestStudy(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	file := studyFile(t, fakeStudy)
	if err := tr.Run(context.Background(), []string{"--study", file, "--quick", "--out", tr.out, "--seed", "2"}); err != nil {
		t.Fatalf("%v\n%s%s", err, tr.stdout.String(), tr.stderr.String())
	}
	out := tr.stdout.String()
	if !strings.HasPrefix(out, "cannot test fakes/cluster: needs 99 nodes, here 1 node\n") || !strings.HasSuffix(out, "verdict VALID\n") {
		t.Errorf("output:\n%s", out)
	}
	for _, want := range []string{`(?m)^fakes/larger +reproduced +[\d.]+x, `, `(?m)^fakes/cluster +cannot tell +-$`, `1\s+reproduced,\s+0\s+contradicted,\s+1\s+cannot\s+tell,\s+6\s+trials`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	plan, trials := tr.sweepFolder(t)
	if len(trials) != 6 || len(plan.Order) != 6 || plan.Study == nil || !plan.Study.Quick || len(plan.Study.Points) != 2 || !trials[0].Quick {
		t.Errorf("plan %+v, %d trials", plan, len(trials))
	}
	var results []metrics.ClaimResult
	dir := filepath.Join(tr.out, "latest")
	if err := metrics.ReadJSON(filepath.Join(dir, metrics.ClaimsFile), &results); err != nil || len(results) != 2 || results[0].Outcome != metrics.Reproduced || results[0].Rounds != 3 {
		t.Errorf("%+v, %v", results, err)
	}
	if page := tr.read(t, "study.md"); !strings.Contains(page, "\n### cluster: cannot tell\n") || !strings.Contains(page, "nobody") {
		t.Errorf("study.md:\n%s", page)
	}
	if names := strings.Count(tr.read(t, "summary.txt"), "point: "); names != 2 {
		t.Errorf("%d points in summary.txt, want 2", names)
	}
}

// An interrupted study goes on. Its folder has the outcomes only when it is whole.
func TestStudyResume(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	file := studyFile(t, strings.Replace(fakeStudy, "node1", "node1 node1:pause:window -once "+filepath.Join(tr.out, "once"), 1))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- tr.Run(ctx, []string{"--study", file, "--out", tr.out, "--trials", "3"}) }()
	tr.waitFor(t, "trial-001/kvsserver-node0.log", "pid")
	cancel()
	if err := <-ended; ExitStatus(err) != exitInterrupted {
		t.Fatalf("error %v, want 130", err)
	}
	dir, _ := filepath.EvalSymlinks(filepath.Join(tr.out, "latest"))
	if _, err := os.Stat(filepath.Join(dir, metrics.ClaimsFile)); !os.IsNotExist(err) {
		t.Errorf("an interrupted study has outcomes: %v", err)
	}
	text, _ := os.ReadFile(file)
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "value = 1000", "value = 2000", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := tr.Run(context.Background(), []string{"--resume", dir}); ExitStatus(err) != exitUsage || !strings.Contains(err.Error(), "the study's file, or what it needs, has changed") {
		t.Errorf("another study: %v", err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := tr.Run(context.Background(), []string{"--resume", dir}); err != nil {
		t.Fatalf("resume: %v\n%s", err, tr.stderr.String())
	}
	if _, trials := tr.sweepFolder(t); len(trials) != 6 {
		t.Errorf("%d trials, want 6", len(trials))
	}
}

// A trial that is INVALID is said, and makes the exit status 1; outcomes do not.
func TestStudyWithFailures(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	err := tr.Run(context.Background(), []string{"--study", studyFile(t, strings.Replace(fakeStudy, "--batch 9", "--engine null", 1)), "--quick", "--out", tr.out})
	if out := format.OneLine(tr.stdout.String()); ExitStatus(err) != exitInvalid || !strings.Contains(out, "fakes/larger: 3 of the 3 trials of large cannot be used: ") || !strings.Contains(out, "verdict INVALID(3 of 6 trials failed") {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestStudyFlags(t *testing.T) {
	t.Parallel()
	first := study.Names()[0]
	for args, want := range map[string]string{
		"--study " + first + "s":                first + "s: want all, list, a file that ends in .toml, or one of",
		"--study no.toml":                       "no such file",
		"--study " + first + " --sweep batch=1": "--study excludes --sweep",
		"--study " + first + " --secs 3":        "--study excludes --secs",
		"--study " + first + " 2 2":             "--study: the study says how many servers and clients run",
		"--study " + first + " --trials 2":      "--trials 2: a study needs at least 3",
		"--seed 3":                              "--seed needs --sweep or --curve or --slo or --ab or --study",
	} {
		if _, err := parseArgs(strings.Fields(args), "logs", nil, io.Discard); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line with %q", args, err, want)
		}
	}
	cfg, err := parseArgs([]string{"--study", first, "--quick"}, "logs", nil, io.Discard)
	if err != nil || !cfg.Quick || !cfg.NoCeiling || len(cfg.ClientArgs) > 0 || !cfg.isSeries() || cfg.List {
		t.Errorf("%+v, %v", cfg, err)
	}
	tr := newTrial(t)
	if err := tr.Run(context.Background(), []string{"--study", "list"}); err != nil || !strings.HasPrefix(tr.stdout.String(), first+": ") {
		t.Errorf("%v: %s", err, tr.stdout.String())
	}
	for line := range strings.Lines(tr.stdout.String()) {
		if len([]rune(line)) > 81 {
			t.Errorf("a line of more than 80 columns: %s", line)
		}
	}
}

func TestStudyDryRun(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	if err := tr.Run(context.Background(), []string{"--study", studyFile(t, fakeStudy), "--dry-run", "--out", tr.out, "--seed", "3"}); err != nil {
		t.Fatal(err)
	}
	out := tr.stdout.String()
	for _, want := range []string{"2 claims of fakes, at least ", "cannot test fakes/cluster: needs 99 nodes", "4 trials of each of 2 points, 8 in all, ordered by --seed 3\n", "\n== point=large\n1 server, 1 client\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if entries, _ := os.ReadDir(tr.out); len(entries) > 0 {
		t.Errorf("%s was made", entries[0].Name())
	}
	tr = newTrial(t)
	hosts := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(hosts, []byte("a addr=10.0.0.1\nb addr=10.0.0.2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := tr.Run(context.Background(), []string{"--study", studyFile(t, strings.Replace(fakeStudy, "1 1", "2 2", 1)), "--dry-run", "--out", tr.out, "--hosts", hosts}); err != nil {
		t.Errorf("two nodes: %v", err)
	}
	if out := format.OneLine(tr.stdout.String()); !strings.Contains(out, "cannot test fakes/larger: needs other nodes: 2 servers and 2 clients are more than the 2 nodes") || !strings.Contains(out, "0 points, 0 in all") {
		t.Errorf("two nodes:\n%s", out)
	}
	err := tr.Run(context.Background(), []string{"--study", studyFile(t, strings.Replace(fakeStudy, "--batch 9", "--bach 9", 1)), "--out", tr.out})
	if ExitStatus(err) != exitUsage || !strings.Contains(err.Error(), "--study, point large: --bach: unknown flag; did you mean --batch?") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a wrong flag: %v", err)
	}
}
