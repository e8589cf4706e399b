package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kvlab/kvs/cluster/remote"
	"kvlab/metrics"
	"kvlab/plots"
	"kvlab/plots/compare"
)

// compared runs --ab over a fake server and a fake client.
func (tr *testRun) compared(ctx context.Context, args ...string) error {
	return tr.Run(ctx, append([]string{"1", "1", "-fake-clients node1", "", "--out", tr.out}, args...))
}

// Both variants' trials are made in pairs, with the variants' arguments, and what is
// printed is what kvsplot compare reads from the folder, cut off and resumed or not.
func TestABTrials(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.Draw = plots.Pages(nil).Draw
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	once := filepath.Join(tr.out, "once")
	args := []string{"--ab", "", "--client-args '-batch 9'", "--trials", "3", "--seed", "5", "--client-args", "node1:pause:window -once " + once}
	go func() { ended <- tr.compared(ctx, args...) }()
	tr.waitFor(t, "trial-001/kvsclient-node1.log", "fault pause at window")
	cancel()
	if err := <-ended; ExitStatus(err) != exitInterrupted {
		t.Fatalf("error %v, want 130", err)
	}
	if err := tr.Run(context.Background(), []string{"--resume", filepath.Join(tr.out, "latest")}); err != nil {
		t.Fatalf("resume: %v\n%s", err, tr.stderr.String())
	}
	plan, trials := tr.sweepFolder(t)
	if len(trials) != 6 || plan.Seed != 5 || len(plan.Variants) != 2 || plan.Variants[1].Args != "--client-args '-batch 9'" || len(plan.Variants[0].Programs["client"]) != 64 {
		t.Fatalf("%d trials of %+v", len(trials), plan)
	}
	for pair := range slices.Chunk(trials, 2) {
		if pair[0].Point[0] == pair[1].Point[0] {
			t.Errorf("trials %d and %d are both of variant %s", pair[0].Number, pair[1].Number, pair[0].Point[0])
		}
	}
	for _, trial := range trials {
		var run metrics.Run
		if err := json.Unmarshal([]byte(tr.read(t, trial.Folder+"/run.json")), &run); err != nil {
			t.Fatal(err)
		}
		args := strings.Join(run.Nodes[1].Config.Args, " ")
		if strings.HasSuffix(args, "-batch 9") != (trial.Point[0] == "B") {
			t.Errorf("trial of variant %s has the arguments %q", trial.Point[0], args)
		}
	}
	again, err := compare.Variants(filepath.Join(tr.out, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	if out := tr.stdout.String(); again.Results[0].A != 3 || !strings.Contains(out, "\n\n"+again.String()+"\n\nVALID") || !strings.HasSuffix(out, "\nverdict VALID\n") {
		t.Errorf("output has no\n%s\nit is\n%s", again, out)
	}
	if report := tr.read(t, "report.html"); !strings.Contains(report, "id=\"comparison\"") {
		t.Error("the report has no comparison")
	}
}

// Both trials of a pair are made at the same time, and what an operation costs is
// compared.
func TestABTogether(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	if err := tr.compared(context.Background(), "--ab", "", "--client-args '-batch 9'", "--trials", "2", "--together"); err != nil {
		t.Fatalf("%v\n%s", err, tr.stderr.String())
	}
	plan, trials := tr.sweepFolder(t)
	if len(trials) != 4 || !plan.Together {
		t.Fatalf("%d trials of %+v", len(trials), plan)
	}
	for pair := range slices.Chunk(trials, 2) {
		if pair[0].Started.After(pair[1].Ended) || pair[1].Started.After(pair[0].Ended) {
			t.Errorf("trials %d and %d were made one after the other", pair[0].Number, pair[1].Number)
		}
	}
	for _, want := range []string{"trial 4/4  side=", "\nprocessor time per operation, servers: ", "\nprocessor time per operation, clients: ", "\nverdict VALID\n"} {
		if out := tr.stdout.String(); !strings.Contains(out, want) {
			t.Errorf("output has no %q:\n%s", want, out)
		}
	}
}

// commitRepository returns a checkout with two commits, whose node programs start the fake
// nodes'.
func commitRepository(t *testing.T) string {
	t.Helper()
	t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -ldflags=-w") // takes half the time to link
	root := t.TempDir()
	run := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q")
	write("go.mod", "module fake\n\ngo 1.26\n")
	for i := range 2 {
		for _, name := range []string{"kvsserver", "kvsclient"} {
			write("cmd/"+name+"/main.go", fmt.Sprintf(
				"package main\n\nimport (\n\t\"os\"\n\t\"syscall\"\n)\n\nfunc main() {\n\tos.Setenv(\"BUILD\", \"%d\")\n\tpanic(syscall.Exec(%q, os.Args, os.Environ()))\n}\n", i, os.Getenv(programVariable)))
		}
		run("add", "-A")
		run("commit", "-q", "-m", fmt.Sprint("commit ", i))
	}
	return root
}

// needGit skips the test on a machine without git.
func needGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("KVLAB_CI") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// Programs of two commits are built, run, and gone afterwards, and the checkout has
// not changed.
func TestABCommits(t *testing.T) {
	needGit(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	tr := newTrial(t)
	tr.Root = commitRepository(t)
	before := gitSays(t, tr.Root, "status", "--porcelain", "--branch") + gitSays(t, tr.Root, "worktree", "list")
	if err := tr.compared(context.Background(), "--ab", "commit:HEAD~1", "commit:HEAD", "--trials", "1"); err != nil {
		t.Fatalf("Run: %v\n%s", err, tr.stderr.String())
	}
	plan, trials := tr.sweepFolder(t)
	a, b := plan.Variants[0], plan.Variants[1]
	if a.GitCommit != gitSays(t, tr.Root, "rev-parse", "HEAD~1") || b.GitCommit != gitSays(t, tr.Root, "rev-parse", "HEAD") {
		t.Errorf("the variants are of %s and %s", a.GitCommit, b.GitCommit)
	}
	if a.Programs["client"] == b.Programs["client"] || a.Programs["client"] == plan.Programs["client"] {
		t.Errorf("programs %+v, %+v, %+v", a.Programs, b.Programs, plan.Programs)
	}
	for _, trial := range trials {
		var run metrics.Run
		if err := json.Unmarshal([]byte(tr.read(t, trial.Folder+"/run.json")), &run); err != nil {
			t.Fatal(err)
		}
		if variant := map[string]metrics.Variant{"A": a, "B": b}[trial.Point[0]]; run.GitCommit != variant.GitCommit {
			t.Errorf("trial of variant %s is of commit %s", trial.Point[0], run.GitCommit)
		}
	}
	if out := tr.stdout.String(); !strings.Contains(out, "they differ in git commit: "+a.GitCommit+" and "+b.GitCommit+"\n") ||
		!strings.Contains(out, "\n   servers and clients are of commit "+b.GitCommit[:12]+": the instrument is of that commit too\n") ||
		!strings.Contains(out, "(TWO CLIENTS)") {
		t.Errorf("output:\n%s", out)
	}
	// Built once more, they are the same.
	if err := tr.Run(context.Background(), []string{"--resume", filepath.Join(tr.out, "latest")}); err != nil {
		t.Errorf("resume: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "kvlab-builds-*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	if after := gitSays(t, tr.Root, "status", "--porcelain", "--branch") + gitSays(t, tr.Root, "worktree", "list"); after != before {
		t.Errorf("the checkout was\n%s\nand is\n%s", before, after)
	}
}

func gitSays(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := remote.Git(context.Background(), dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The servers of a commit are measured by this checkout's clients, and by no others.
func TestABServers(t *testing.T) {
	needGit(t)
	t.Setenv("TMPDIR", t.TempDir())
	tr := newTrial(t)
	tr.Root = commitRepository(t)
	if err := tr.compared(context.Background(), "--ab", "", "server:HEAD", "--trials", "1"); err != nil {
		t.Fatalf("Run: %v\n%s", err, tr.stderr.String())
	}
	plan, trials := tr.sweepFolder(t)
	a, b, head := plan.Variants[0], plan.Variants[1], gitSays(t, tr.Root, "rev-parse", "HEAD")
	if b.ServerCommit != head || b.GitCommit != a.GitCommit || a.ServerCommit != "" {
		t.Errorf("the variants are %+v and %+v, the commit is %s", a, b, head)
	}
	if a.Programs["client"] != b.Programs["client"] || a.Programs["server"] == b.Programs["server"] {
		t.Errorf("programs %+v, %+v", a.Programs, b.Programs)
	}
	for _, trial := range trials {
		var run metrics.Run
		if err := json.Unmarshal([]byte(tr.read(t, trial.Folder+"/run.json")), &run); err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"A": "", "B": head}[trial.Point[0]]; run.ServerCommit != want {
			t.Errorf("the servers of variant %s are of commit %q, want %q", trial.Point[0], run.ServerCommit, want)
		}
	}
	if out := tr.stdout.String(); !strings.Contains(out, "\n   servers are of commit "+head[:12]+", clients of this checkout\n") {
		t.Errorf("output:\n%s", out)
	}
	// Servers that speak another version are refused before anything starts.
	err := tr.compared(context.Background(), "--ab", "server:HEAD~1", "")
	const want = "--ab, variant A: server:HEAD~1: its servers speak wire 0, control 1, records 2, this checkout's clients wire 1, control 1, records 2: commit:REV takes both programs of a commit"
	if ExitStatus(err) != exitUsage || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	t.Setenv("OLD_BUILD", "1")
	err = tr.compared(context.Background(), "--ab", "server:HEAD~1", "")
	if ExitStatus(err) != exitUsage || !strings.Contains(err.Error(), "server:HEAD~1: its kvsserver is of another format: it says \"wire 0, control 1\", this launcher wants \"control 1, records 2\"") {
		t.Errorf("error %v", err)
	}
}

// A commit that does not build is refused with the compiler's word.
func TestABCommitThatDoesNotBuild(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	tr := newTrial(t)
	tr.Root = commitRepository(t)
	broken := filepath.Join(tr.Root, "cmd/kvsclient/main.go")
	if err := os.WriteFile(broken, []byte("package main\n\nfunc main() { nothing() }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	gitSays(t, tr.Root, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-a", "-m", "broken")
	err := tr.compared(context.Background(), "--ab", "commit:HEAD", "")
	if ExitStatus(err) != exitUsage || !strings.Contains(err.Error(), "--ab, variant A: commit:HEAD: build: cmd/kvsclient/main.go:3:15: undefined: nothing") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}
