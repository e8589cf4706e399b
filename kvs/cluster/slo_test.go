package cluster

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kvlab/internal/fakenode"
	"kvlab/metrics/format"
	"kvlab/plots"
)

func (tr *testRun) search(ctx context.Context, promise string, more ...string) error {
	return tr.Run(ctx, append([]string{"1", "2", "-fake-clients node1,node2", "", "--slo", promise, "--out", tr.out}, more...))
}

// A call of a fake takes 4 ms at three quarters of the peak: the search ends with that
// between the two rates that it names, and leaves a curve.
func TestSearchSLO(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.Draw = plots.Pages(nil).Draw
	if err := tr.search(context.Background(), "p99<4ms"); err != nil {
		t.Fatalf("Run: %v\n%s%s", err, tr.stdout.String(), tr.stderr.String())
	}
	out := tr.stdout.String()
	m := regexp.MustCompile(`VALID.*: SLO p99=4ms: kept up to ([0-9.]+) ops/s, 95 % interval ([0-9.]+) to ([0-9.]+), peak .* ops/s, of a closed loop; knee below .* verdict VALID$`).FindStringSubmatch(format.OneLine(out))
	if m == nil {
		t.Fatalf("output:\n%s", out)
	}
	var rate [3]float64
	for i := range rate {
		rate[i], _ = strconv.ParseFloat(m[i+1], 64)
	}
	const right = 0.75 * fakenode.Peak
	if math.Abs(rate[0]/right-1) > 0.01 || rate[1] > right || rate[2] < right || rate[2] > 1.06*rate[1] {
		t.Errorf("the rate is %v, want %v", rate, right)
	}
	plan, trials := tr.sweepFolder(t)
	if len(trials) < 3+2+12 || len(plan.Order) != len(trials) || len(plan.Programs) != 2 || plan.SLO != "p99=4ms" {
		t.Errorf("plan %+v, %d trials", plan, len(trials))
	}
	if peak := trials[0].OpsPerS; trials[0].OfferedOpsPerS != 0 || math.Abs(trials[3].OfferedOpsPerS/(peak/2)-1) > 0.05 {
		t.Errorf("the first rate is %v, want half of the peak %v", trials[3].OfferedOpsPerS, peak)
	}
	tr.read(t, "latency_throughput.png")
}

// A curve that is cut off goes on where it was, and its table has a row for each rate.
func TestCurve(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.Draw = plots.Pages(nil).Draw
	ctx, cancel := context.WithCancel(context.Background())
	once := filepath.Join(t.TempDir(), "once")
	ended := make(chan error, 1)
	go func() {
		ended <- tr.Run(ctx, []string{"1", "2", "-fake-clients node1,node2", "node1:pause:window -once " + once, "--curve", "40%,80%,150%,5", "--trials", "2", "--seed", "7", "--out", tr.out})
	}()
	tr.waitFor(t, "trial-001/kvsclient-node1.log", "fault pause at window")
	cancel()
	if err := <-ended; ExitStatus(err) != exitInterrupted {
		t.Fatalf("error %v, want 130", err)
	}
	if err := tr.Run(context.Background(), []string{"--resume", filepath.Join(tr.out, "latest")}); err != nil {
		t.Fatalf("resume: %v\n%s", err, tr.stderr.String())
	}
	plan, trials := tr.sweepFolder(t)
	if len(trials) != 10 || !slices.Equal(plan.Knobs[0].Values, []string{"peak", "40%", "80%", "150%", "5"}) {
		t.Fatalf("%d trials, plan %+v", len(trials), plan)
	}
	for i, trial := range trials {
		if fmt.Sprint(trial.PlannedTrial) != fmt.Sprint(plan.Order[i]) {
			t.Errorf("trial %+v, planned %+v", trial, plan.Order[i])
		}
	}
	table := regexp.MustCompile(`(?m)^ *of peak +offered +achieved +p50 +p95 +p99 +p99.9 +late +note$
^ +2[0-9]% +5 .*$
^ +40% .* knee$
^ +80% .*$
^ +150% .* - +- +- +- +- +saturated$
^peak 1[0-9.]+ ops/s, of a closed loop$
^knee at 7.[0-9]+ ops/s, .*$

VALID.*:\s+knee\s+at\s+7.[0-9]+\s+ops/s,\s+the\s+highest\s+throughput\s+over\s+mean\s+latency,\s+peak`)
	if out := tr.stdout.String(); !table.MatchString(out) || !strings.HasSuffix(out, "\nverdict VALID\n") {
		t.Errorf("output:\n%s", out)
	}
	for line := range strings.Lines(tr.stdout.String()) {
		if len(line) > 81 && !strings.HasPrefix(line, "report ") {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
	if page := tr.read(t, "report.html"); !strings.Contains(page, "knee at ") {
		t.Error("the report does not say where the knee is")
	}
}

// A promise that cannot be kept is looked for below, and given up; a node that
// dies ends the search with its name; too few calls are said.
func TestSearchSLOEnds(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.Draw = func(string) ([]string, error) { return nil, nil }
	if err := tr.search(context.Background(), "p50=1us"); err != nil || !strings.Contains(format.OneLine(tr.stdout.String()), "SLO p50=1µs: broken at every rate down to ") {
		t.Errorf("error %v, output:\n%s", err, tr.stdout.String())
	}
	for fault, verdict := range map[string]string{
		"--server-args=-fake-clients node1,node2 node0:kill:window": `verdict INVALID\(died of signal 9 .*, node0\)\n$`,
		"--server-args=-fake-clients node1,node2":                   `verdict INVALID\(--slo p99.99=5ms: the calls at .* ops/s are too few for p99.99: want a longer --secs\)\n$`,
	} {
		tr := newTrial(t)
		tr.Draw = func(string) ([]string, error) { return nil, nil }
		err := tr.Run(context.Background(), []string{"1", "2", "--slo", "p99.99=5ms", "--out", tr.out, fault})
		if ExitStatus(err) != exitInvalid || !regexp.MustCompile(verdict).MatchString(tr.stdout.String()) {
			t.Errorf("%s: error %v, output:\n%s", fault, err, tr.stdout.String())
		}
	}
}
