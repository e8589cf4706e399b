package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kvlab/kvs/cluster/trial"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots"

	"golang.org/x/perf/benchfmt"
)

// many runs several trials over a fake server and a fake client, which both have these
// arguments.
func (tr *testRun) many(ctx context.Context, nodeArgs string, flags ...string) error {
	words := []string{"--server-args", "-fake-clients node1 " + nodeArgs, "--client-args", nodeArgs, "--out", tr.out, "--sweep", "nodes=2"}
	return tr.Run(ctx, append(words, flags...))
}

func (tr *testRun) sweepFolder(t *testing.T) (metrics.Sweep, []metrics.Trial) {
	t.Helper()
	plan, trials, err := metrics.ReadSweep(filepath.Join(tr.out, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	return plan, trials
}

func TestTrials(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.Draw = plots.Pages(nil).Draw
	err := tr.Run(context.Background(), []string{"2", "2", "-fake-clients node2,node3", "", "--trials", "3", "--out", tr.out})
	if err != nil {
		t.Fatalf("Run: %v\n%s%s", err, tr.stdout.String(), tr.stderr.String())
	}
	plan, trials := tr.sweepFolder(t)
	if plan.ID == "" || plan.Trials != 3 || len(plan.Order) != 3 || len(plan.Knobs) != 0 || len(plan.Programs["server"]) != 64 || plan.Command[0] != "run-cluster.sh" {
		t.Errorf("plan %+v", plan)
	}
	var rates []float64
	for i, trial := range trials {
		rates = append(rates, trial.OpsPerS)
		if trial.Number != i+1 || trial.Folder != fmt.Sprintf("trial-%03d", i+1) || !trial.Verdict.Valid || trial.Servers != 2 || trial.Clients != 2 {
			t.Errorf("trial %+v", trial)
		}
		var run metrics.Run
		if err := json.Unmarshal([]byte(tr.read(t, trial.Folder+"/run.json")), &run); err != nil || run.ID != plan.ID+"/"+trial.Folder || run.OpsPerS != trial.OpsPerS {
			t.Errorf("%s: run %q of %v op/s, %v", trial.Folder, run.ID, run.OpsPerS, err)
		}
	}
	out := tr.stdout.String()
	want := fmt.Sprintf(`\ntotal %.0f op/s\n\nVALID.*: %s ops/s,\s+the\s+median\s+of\s+3\s+trials,\s+too\s+few\s`, stats.Median(rates), format.Count(stats.Median(rates)))
	if len(rates) != 3 || !regexp.MustCompile(want).MatchString(out) || strings.Count(out, "total ") != 1 || !strings.HasSuffix(out, "\nverdict VALID\n") {
		t.Errorf("output has no %q:\n%s", want, out)
	}
	if n := len(regexp.MustCompile(`(?m)^trial [123]/3  [0-9]+ op/s  VALID$`).FindAllString(out, -1)); n != 3 {
		t.Errorf("%d lines of trials:\n%s", n, out)
	}
	if report := tr.read(t, "report.html"); !strings.Contains(report, "VALID") {
		t.Error("the report has no verdict")
	}
	tr.checkBenchmarks(t, rates)
}

// checkBenchmarks reads summary.txt the way benchstat does: all lines have one
// name and one header.
func (tr *testRun) checkBenchmarks(t *testing.T, rates []float64) {
	t.Helper()
	reader := benchfmt.NewReader(strings.NewReader(tr.read(t, "summary.txt")), "summary.txt")
	var names, heads []string
	for reader.Scan() {
		switch r := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Errorf("summary.txt: %v", r)
		case *benchfmt.Result:
			if value, ok := r.Value("ops/s"); !ok || value < rates[len(names)]-1 || value > rates[len(names)]+1 {
				t.Errorf("summary.txt: %v ops/s, want %v", value, rates[len(names)])
			}
			names, heads = append(names, r.Name.String()), append(heads, fmt.Sprint(r.Config))
		}
	}
	for i := range names {
		if names[i] != names[0] || heads[i] != heads[0] {
			t.Errorf("line %d: %s of %s, not %s of %s", i, names[i], heads[i], names[0], heads[0])
		}
	}
	if err := reader.Err(); err != nil || len(names) != len(rates) {
		t.Errorf("summary.txt: %d results, %v", len(names), err)
	}
}

// A failed trial is kept with its verdict and is in no figure, and the whole
// is then not valid.
func TestSweepWithFailures(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	err := tr.many(context.Background(), "", "--sweep", "engine=syncmap,null", "--trials", "2", "--seed", "9")
	if ExitStatus(err) != exitInvalid {
		t.Fatalf("Run: %v\n%s%s", err, tr.stdout.String(), tr.stderr.String())
	}
	plan, trials := tr.sweepFolder(t)
	if plan.Seed != 9 || len(trials) != 4 {
		t.Fatalf("seed %d, %d trials", plan.Seed, len(trials))
	}
	for i, trial := range trials {
		if trial.Verdict.Valid == (trial.Point[1] == "null") || fmt.Sprint(trial.PlannedTrial) != fmt.Sprint(plan.Order[i]) {
			t.Errorf("trial %+v, planned %+v", trial, plan.Order[i])
		}
	}
	out := tr.stdout.String()
	for _, want := range []string{
		`(?m)^nodes=2 engine=syncmap +2/2 +[0-9.kMG]+ +- +too little load +- +-$`,
		`(?m)^nodes=2 engine=null +0/2 +failed +- +- +- +-$`,
		`(?m)^no result at nodes=2 engine=null: 2 of 2 trials failed$`,
		`(?m)^failed at nodes=2 engine=null: trial [1-4], INVALID\(engine null answers.*\)$`,
		`\nverdict INVALID\(2 of 4 trials failed, first trial [1-4] nodes=2 engine=null: engine null .*\)\n$`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("output has no %s:\n%s", want, out)
		}
	}
	if n := strings.Count(tr.read(t, "summary.txt"), "Benchmark"); n != 2 {
		t.Errorf("%d lines in summary.txt, want those of the 2 valid trials", n)
	}
}

// A trial that broke before anything was loaded is made again and listed. One whose client
// dies in the window is not.
func TestBrokenTrials(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault    string
		attempts int // at the first trial
		said     string
	}{
		{"node1:error:start", 2, "made again: trial 1 1 time, as it broke: listen tcp 127.0.0.1:8080: bind: address already in use"},
		{"node1:kill:window", 1, "INVALID: 1 of 2 trials failed, first trial 1: died of signal 9 (killed) (node1)"},
	} {
		tr := newTrial(t)
		err := tr.many(context.Background(), test.fault+" -once "+filepath.Join(tr.out, "once"), "--trials", "2")
		_, trials := tr.sweepFolder(t)
		if len(trials) != 2 || len(trials[0].Earlier) != test.attempts-1 || trials[0].Verdict.Valid != (test.attempts == 2) || (err == nil) != trials[0].Verdict.Valid {
			t.Fatalf("%s: %v, trials %+v", test.fault, err, trials)
		}
		if out := format.OneLine(tr.stdout.String()); !strings.Contains(out, test.said) {
			t.Errorf("%s: the answer lacks %q:\n%s", test.fault, test.said, out)
		}
		if test.attempts == 2 && (trials[0].Folder != "trial-001-2" || trials[0].Earlier[0].Folder != "trial-001" || !trials[0].Earlier[0].Outside) {
			t.Errorf("trial %+v", trials[0])
		}
	}
}

// --until ends with its verdict on the interval. The fakes' rates differ by
// little, so that six trials are enough.
func TestUntilIsMet(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	if err := tr.many(context.Background(), "", "--until", "50%"); err != nil {
		t.Fatalf("Run: %v\n%s%s", err, tr.stdout.String(), tr.stderr.String())
	}
	if _, trials := tr.sweepFolder(t); len(trials) != 6 || !strings.Contains(tr.stdout.String(), "\n--until 50% at nodes=2: met\n") {
		t.Errorf("%d trials:\n%s", len(trials), tr.stdout.String())
	}
}

// An interrupted sweep keeps what is finished, says how to go on, and is whole
// after it has gone on.
func TestResume(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	once := "-once " + filepath.Join(tr.out, "once")
	args := []string{"--sweep", "theta=0.5,0.9", "--trials", "2", "--seed", "4"}
	go func() { ended <- tr.many(ctx, "node1:pause:window "+once, args...) }()
	tr.waitFor(t, "trial-001/kvsclient-node1.log", "fault pause at window")
	cancel()
	if err := <-ended; ExitStatus(err) != exitInterrupted {
		t.Fatalf("error %v, want 130", err)
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(tr.out, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	if said := tr.stderr.String(); !strings.Contains(said, "0 trials finished, 4 to go; go on with: run-cluster.sh --resume "+dir+"\n") {
		t.Errorf("standard error:\n%s", said)
	}
	if out := tr.stdout.String(); !strings.HasSuffix(out, "\nverdict INVALID(interrupted)\n") {
		t.Errorf("output:\n%s", out)
	}
	tr.checkResumeRefusals(t, dir)
	if err := tr.Run(context.Background(), []string{"--resume", filepath.Join(tr.out, "latest")}); err != nil {
		t.Fatalf("resume: %v\n%s", err, tr.stderr.String())
	}
	plan, trials := tr.sweepFolder(t)
	if len(trials) != 4 || len(plan.Order) != 4 || plan.Seed != 4 {
		t.Errorf("%d trials of %d planned, seed %d", len(trials), len(plan.Order), plan.Seed)
	}
	if _, err := os.Stat(filepath.Join(dir, "trial-001-cut1", "run.json")); err != nil {
		t.Errorf("what was cut off is not kept: %v", err)
	}
	// Once more there is nothing to do, and the same to say.
	before := tr.stdout.String()
	if err := tr.Run(context.Background(), []string{"--resume", dir}); err != nil {
		t.Fatal(err)
	}
	if again := strings.TrimPrefix(tr.stdout.String(), before); !strings.HasSuffix(before, again) || !strings.HasSuffix(again, "verdict VALID\n") {
		t.Errorf("finished sweep:\n%s", again)
	}
}

// checkResumeRefusals tries what must not be continued.
func (tr *testRun) checkResumeRefusals(t *testing.T, dir string) {
	t.Helper()
	program := tr.Programs[metrics.Client]
	wrapper := filepath.Join(t.TempDir(), "wrapper")
	if err := os.WriteFile(wrapper, []byte("#!/bin/sh\nexec '"+program+"' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		args []string
		set  func()
		want string
	}{
		{"no folder", []string{"--resume", dir + "-none"}, nil, "--resume: lstat "},
		{"no sweep", []string{"--resume", tr.out}, nil, "no sweep was begun there: it has no sweep.json"},
		{"another command line", []string{"--resume=" + dir, "--trials", "2"}, nil, `the command line differs: there ["run-cluster.sh" `},
		{"another program", []string{"--resume", dir}, func() { tr.Programs[metrics.Client] = wrapper }, "client's program differs"},
	} {
		if test.set != nil {
			test.set()
		}
		err := tr.Run(context.Background(), test.args)
		if ExitStatus(err) != exitUsage || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", test.name, err, test.want)
		}
		tr.Programs[metrics.Client] = program
	}
	lock, err := trial.Folder(dir).Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if err := tr.Run(context.Background(), []string{"--resume", dir}); ExitStatus(err) != exitUsage || !strings.Contains(err.Error(), "another run-cluster.sh works there") {
		t.Errorf("a folder in use: error %v", err)
	}
}
