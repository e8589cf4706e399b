package cluster

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/latency"
	"kvlab/plots"
)

// fakePeak is what all fake clients together can be answered, in ops/s.
const fakePeak = 100_000

// offer has a fake client be loaded at a rate: each of its operations takes
// 1 ms / (1 - rate/fakePeak), as a queue would have it, and beyond the peak it
// is saturated.
func (n *fakeNode) offer(s *metrics.Summary, text string) {
	clients, _ := strconv.ParseFloat(n.arg("-clients"), 64)
	number, share := strings.CutSuffix(text, "%")
	rate, _ := strconv.ParseFloat(number, 64)
	s.Offered = &metrics.Offered{Arrivals: "poisson", Ops: s.InWindow.Ops()}
	if share {
		rate *= fakePeak / 100
		s.Offered.PeakOpsPerS = fakePeak / clients
	}
	s.Offered.OpsPerS = rate / clients
	if rate >= fakePeak {
		s.Offered.Ops *= 2
	}
	collector, recorders := latency.NewCollector(1, 1)
	for range 1000 {
		took := time.Duration(float64(time.Millisecond) / max(1-rate/fakePeak, 0.001))
		recorders[0].Observe(latency.Timing{Phase: metrics.Window, Ops: latency.Kinds{1}, Call: took, Op: took})
	}
	histograms, _ := collector.Collect(0, 1) // of one range and precision: encodes
	for _, h := range histograms {
		n.record(metrics.Record{Histogram: &h})
	}
}

func (tr *testRun) search(ctx context.Context, promise string, more ...string) error {
	return tr.Run(ctx, append([]string{"2", "2", "-fake-clients node2,node3", "", "--slo", promise, "--out", tr.out}, more...))
}

// 1 ms / (1 - rate/fakePeak) is 4 ms at three quarters of the peak: the search
// ends with that between the two rates that it names, and leaves a sweep.
func TestSearchSLO(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.draw = plots.Draw
	if err := tr.search(context.Background(), "p99=4ms"); err != nil {
		t.Fatalf("Run: %v\n%s%s", err, tr.stdout.String(), tr.stderr.String())
	}
	out := tr.stdout.String()
	m := regexp.MustCompile(`\nslo p99=4ms: kept at ([0-9]+) op/s, broken at ([0-9]+) op/s\nreport .*\nverdict VALID\n$`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("output:\n%s", out)
	}
	kept, _ := strconv.ParseFloat(m[1], 64)
	broken, _ := strconv.ParseFloat(m[2], 64)
	if kept > 75_000 || broken < 75_000 || broken > 1.06*kept {
		t.Errorf("kept at %v and broken at %v, want 75,000 between them", kept, broken)
	}
	if !strings.Contains(out, "trial 1  50000 op/s offered  100.0 % achieved  p99 2") {
		t.Errorf("the search does not begin at half of the peak:\n%s", out)
	}
	plan, trials := tr.sweepFolder(t)
	if len(trials) < 3 || len(plan.Order) != len(trials) || len(plan.Programs) != 2 || trials[0].OfferedOpsPerS != 50_000 || trials[0].OpP99 == nil {
		t.Errorf("plan %+v, trials %+v", plan, trials)
	}
	tr.read(t, "latency_throughput.svg")
}

// A promise that cannot be kept is looked for below, and given up; a node that
// dies ends the search with its name; too few calls are said.
func TestSearchSLOEnds(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.draw = func(string) ([]string, error) { return nil, nil }
	if err := tr.search(context.Background(), "p50=1us"); err != nil || !strings.Contains(tr.stdout.String(), "\nslo p50=1µs: broken at every rate down to ") {
		t.Errorf("error %v, output:\n%s", err, tr.stdout.String())
	}
	for fault, verdict := range map[string]string{
		"--server-args=-fake-clients node2,node3 node0:kill:window": `verdict INVALID\(died of signal 9 .*, node0\)\n$`,
		"--server-args=-fake-clients node2,node3":                   `verdict INVALID\(--slo p99.99=5ms: 2000 calls at .* are too few for p99.99: want a longer --secs\)\n$`,
	} {
		tr := newTrial(t)
		tr.draw = func(string) ([]string, error) { return nil, nil }
		err := tr.Run(context.Background(), []string{"2", "2", "--slo", "p99.99=5ms", "--out", tr.out, fault})
		if ExitStatus(err) != exitInvalid || !regexp.MustCompile(verdict).MatchString(tr.stdout.String()) {
			t.Errorf("%s: error %v, output:\n%s", fault, err, tr.stdout.String())
		}
	}
}

func TestSLORefusals(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--slo p99=5ms --trials 3", "--slo excludes --trials"},
		{"--slo p99=5ms --curve", "--slo excludes --curve"},
		{"--slo p98=5ms", "want a quantile and a time"},
		{"--slo p99=5ms --client-args -rate=5", "leave -rate out"},
		{"--curve --sweep rate=5", "--sweep rate is given twice"},
		{"--curve --client-args -rate=5", "--sweep rate: the rest of the command line sets it too"},
	} {
		if _, err := parseArgs(strings.Fields(test.args), "logs", nil, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q in it", test.args, err, test.want)
		}
	}
}
