package cluster

import (
	"context"
	"math"
	"regexp"
	"strconv"
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
