package launch

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kvlab/extra/study"
	"kvlab/internal/fakecluster"
	"kvlab/kvs/cluster"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/verify"
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
	tr := fakecluster.New(t, Kind)
	file := studyFile(t, fakeStudy)
	if err := tr.Run(context.Background(), "--study", file, "--quick", "--seed", "2"); err != nil {
		t.Fatalf("%v\n%s%s", err, tr.Stdout.String(), tr.Stderr.String())
	}
	out := tr.Stdout.String()
	if !strings.HasPrefix(out, "cannot test fakes/cluster: needs 99 nodes, here 1 node\n") || !strings.HasSuffix(out, "verdict VALID\n") {
		t.Errorf("output:\n%s", out)
	}
	for _, want := range []string{`(?m)^fakes/larger +reproduced +[\d.]+x, `, `(?m)^fakes/cluster +cannot tell +-$`, `1\s+reproduced,\s+0\s+contradicted,\s+1\s+cannot\s+tell,\s+6\s+trials`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	plan, trials := tr.Trials(t)
	if len(trials) != 6 || len(plan.Order) != 6 || plan.Study == nil || !plan.Study.Quick || len(plan.Study.Points) != 2 || !trials[0].Quick {
		t.Errorf("plan %+v, %d trials", plan, len(trials))
	}
	var results []metrics.ClaimResult
	dir := filepath.Join(tr.Out, "latest")
	if err := metrics.ReadJSON(filepath.Join(dir, metrics.ClaimsFile), &results); err != nil || len(results) != 2 || results[0].Outcome != metrics.Reproduced || results[0].Rounds != 3 {
		t.Errorf("%+v, %v", results, err)
	}
	if page := tr.Read(t, "study.md"); !strings.Contains(page, "\n### cluster: cannot tell\n") || !strings.Contains(page, "nobody") {
		t.Errorf("study.md:\n%s", page)
	}
	if names := strings.Count(tr.Read(t, "summary.txt"), "point: "); names != 2 {
		t.Errorf("%d points in summary.txt, want 2", names)
	}
	for want, edited := range map[string]string{"": "study.md", "claims.json: [0].outcome: recorded is ": metrics.ClaimsFile, "study.md:": "study.md"} {
		text, times := tr.Read(t, edited), min(len(want), 1)
		if err := os.WriteFile(filepath.Join(dir, edited), []byte(strings.Replace(text, "reproduced", "contradicted", times)), 0o644); err != nil {
			t.Fatal(err)
		}
		results, err := verify.Run(dir, study.Row)
		if said := strings.Join(results[6].Differences, "\n"); err != nil || want == "" != (said == "") || !strings.HasPrefix(said, want) {
			t.Errorf("%s edited: %q, %v", edited, said, err)
		}
		if err := os.WriteFile(filepath.Join(dir, edited), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// An interrupted study goes on. Its folder has the outcomes only when it is whole.
func TestStudyResume(t *testing.T) {
	t.Parallel()
	tr := fakecluster.New(t, Kind)
	file := studyFile(t, strings.Replace(fakeStudy, "node1", "node1 node1:pause:window -once "+filepath.Join(tr.Out, "once"), 1))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- tr.Run(ctx, "--study", file, "--trials", "3") }()
	tr.WaitFor(t, "trial-001/kvsserver-node0.log", "pid")
	cancel()
	if err := <-ended; cluster.ExitStatus(err) != 130 {
		t.Fatalf("error %v, want 130", err)
	}
	dir, _ := filepath.EvalSymlinks(filepath.Join(tr.Out, "latest"))
	if _, err := os.Stat(filepath.Join(dir, metrics.ClaimsFile)); !os.IsNotExist(err) {
		t.Errorf("an interrupted study has outcomes: %v", err)
	}
	text, _ := os.ReadFile(file)
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "value = 1000", "value = 2000", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := tr.Run(context.Background(), "--resume", dir); cluster.ExitStatus(err) != 2 || !strings.Contains(err.Error(), "the study's file, or what it needs, has changed") {
		t.Errorf("another study: %v", err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := tr.Run(context.Background(), "--resume", dir); err != nil {
		t.Fatalf("resume: %v\n%s", err, tr.Stderr.String())
	}
	if _, trials := tr.Trials(t); len(trials) != 6 {
		t.Errorf("%d trials, want 6", len(trials))
	}
}

// A trial that is INVALID is said, and makes the exit status 1; outcomes do not.
func TestStudyWithFailures(t *testing.T) {
	t.Parallel()
	tr := fakecluster.New(t, Kind)
	err := tr.Run(context.Background(), "--study", studyFile(t, strings.Replace(fakeStudy, "--batch 9", "--engine null", 1)), "--quick")
	if out := format.OneLine(tr.Stdout.String()); cluster.ExitStatus(err) != 1 || !strings.Contains(out, "fakes/larger: 3 of the 3 trials of large cannot be used: ") || !strings.Contains(out, "verdict INVALID(3 of 6 trials failed") {
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
		"--restart-at 10s --study list":         "--study excludes --restart-at",
		"--study " + first + " --trials 2":      "--trials 2: a study needs at least 3",
		"--seed 3":                              "--seed needs --sweep or --curve or --slo or --ab or --study",
	} {
		tr := fakecluster.New(t, Kind)
		if err := tr.Run(context.Background(), strings.Fields(args)...); cluster.ExitStatus(err) != 2 || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line with %q", args, err, want)
		}
	}
	tr := fakecluster.New(t, Kind)
	if err := tr.Run(context.Background(), "--study", "list"); err != nil || !strings.HasPrefix(tr.Stdout.String(), first+": ") {
		t.Errorf("%v: %s", err, tr.Stdout.String())
	}
	for line := range strings.Lines(tr.Stdout.String()) {
		if len([]rune(line)) > 81 {
			t.Errorf("a line of more than 80 columns: %s", line)
		}
	}
}

func TestStudyDryRun(t *testing.T) {
	t.Parallel()
	tr := fakecluster.New(t, Kind)
	if err := tr.Run(context.Background(), "--study", studyFile(t, fakeStudy), "--quick", "--dry-run", "--seed", "3"); err != nil {
		t.Fatal(err)
	}
	out := tr.Stdout.String()
	if strings.Contains(out, "-records=100000") {
		t.Errorf("the quick form of a plain run:\n%s", out)
	}
	for _, want := range []string{"2 claims of fakes, at least ", "cannot test fakes/cluster: needs 99 nodes", "3 trials of each of 2 points, 6 in all, ordered by --seed 3\n", "\n== point=large\n1 server, 1 client\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if entries, _ := os.ReadDir(tr.Out); len(entries) > 0 {
		t.Errorf("%s was made", entries[0].Name())
	}
	tr = fakecluster.New(t, Kind)
	hosts := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(hosts, []byte("a addr=10.0.0.1\nb addr=10.0.0.2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := tr.Run(context.Background(), "--study", studyFile(t, strings.Replace(fakeStudy, "1 1", "2 2", 1)), "--dry-run", "--hosts", hosts); err != nil {
		t.Errorf("two nodes: %v", err)
	}
	if out := format.OneLine(tr.Stdout.String()); !strings.Contains(out, "cannot test fakes/larger: needs other nodes: 2 servers and 2 clients are more than the 2 nodes") || !strings.Contains(out, "0 points, 0 in all") {
		t.Errorf("two nodes:\n%s", out)
	}
	err := tr.Run(context.Background(), "--study", studyFile(t, strings.Replace(fakeStudy, "--batch 9", "--bach 9", 1)))
	if cluster.ExitStatus(err) != 2 || !strings.Contains(err.Error(), "--study, point large: --bach: unknown flag; did you mean --batch?") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a wrong flag: %v", err)
	}
}
