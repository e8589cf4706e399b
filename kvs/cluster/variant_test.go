package cluster

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
