package curve

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"kvlab/metrics"
)

// mm1 returns the trials of M/M/1 queues of capacity mu at shares of it: the sojourn time is
// exponential with mean 1/(mu-lambda) (Kleinrock, Queueing Systems I, 1975, section 3.2).
// Trial i of n has a latency that is noise[i] times as long.
func mm1(mu float64, shares []float64, noise ...float64) (points []metrics.Point) {
	for _, share := range shares {
		point := metrics.Point{Values: []string{fmt.Sprintf("%.0f%%", 100*share)}}
		for _, factor := range noise {
			lambda := share * mu
			run := metrics.Run{Result: metrics.Result{OpsPerS: min(lambda, mu), Ops: uint64(10 * min(lambda, mu)), Verdict: metrics.Verdict{Valid: true}}, Offered: &metrics.Offered{OpsPerS: lambda, Ops: uint64(10 * lambda)}}
			if lambda < mu {
				mean := factor * 1e6 / (mu - lambda)
				at := func(q float64) *float64 { return new(-mean * math.Log(1-q)) }
				run.Latency = map[string]metrics.Quantiles{metrics.OpLatency: {Count: 1000, Mean: mean, P50: at(0.5), P90: at(0.9), P95: at(0.95), P99: at(0.99)}, metrics.Lateness: {P99: new(50.0)}}
			}
			point.Valid = append(point.Valid, metrics.TrialOf(metrics.PlannedTrial{}, "", run))
		}
		points = append(points, point)
	}
	return points
}

var tenths = []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1}

// The power of an M/M/1 queue, lambda (mu - lambda), is the highest at mu/2, whatever the
// range and the order of the rates.
func TestKneeOfAQueue(t *testing.T) {
	for _, shares := range [][]float64{tenths, tenths[3:], {0.9, 0.5, 0.1}, {0.45, 0.51, 0.99}} {
		c := Of(metrics.Sweep{}, mm1(1e5, shares, 1, 0.9, 1.1))
		knee := c.Points[c.Knee()].Offered
		for _, share := range shares {
			if math.Abs(share-0.5) < math.Abs(knee/1e5-0.5)-1e-9 {
				t.Errorf("shares %v: the knee is at %v, and %v is nearer to the middle", shares, knee, share)
			}
		}
	}
	for _, test := range []struct {
		shares []float64
		want   string // the line
	}{
		{[]float64{1.1, 1.2}, ""}, {[]float64{0.3}, ""},
		{[]float64{0.2, 0.3, 0.4}, "knee above 40k ops/s, the highest rate with a latency (offer higher ones)"},
		{[]float64{0.6, 0.8, 1.1}, "knee below 60k ops/s, the lowest rate with a latency (offer lower ones)"},
		{[]float64{0.2, 0.4, 1.1}, "knee at 40k ops/s, the highest throughput over mean latency"},
	} {
		c := Of(metrics.Sweep{}, mm1(1e5, test.shares, 1))
		if got := strings.Join(c.Lines(), "\n"); got != test.want || (c.Knee() >= 0) != strings.HasPrefix(got, "knee at") {
			t.Errorf("shares %v: point %d, %q, want %q", test.shares, c.Knee(), got, test.want)
		}
	}
}

// A latency that does not rise with the rate, within the trials' intervals, has no knee, and
// neither has a point that answers what the warm-up left behind.
func TestNoKnee(t *testing.T) {
	noise := []float64{1, 0.9, 1.1, 0.95, 1.05, 1}
	flat := func(means ...float64) Curve {
		points := mm1(1e5, tenths[:len(means)], noise...)
		for i, p := range points {
			for j, trial := range p.Valid {
				q := trial.Run.Latency[metrics.OpLatency]
				q.Mean = means[i] * noise[j]
				trial.Run.Latency[metrics.OpLatency] = q
			}
		}
		return Of(metrics.Sweep{}, points)
	}
	for _, test := range []struct {
		c    Curve
		want string
	}{
		{flat(100, 101, 99, 100, 100.5), "no knee: latency does not rise"},
		{flat(100, 105, 70, 150, 300), "no knee: latency falls from 0.1 to 0.07 ms between 10k and 30k ops/s"},
		{flat(100, 105, 95, 150, 300), "knee at 30k ops/s, the highest throughput over mean latency"},
	} {
		if got := test.c.Lines()[0]; got != test.want || (test.c.Knee() >= 0) != strings.HasPrefix(got, "knee at") {
			t.Errorf("%q and point %d, want %q", got, test.c.Knee(), test.want)
		}
	}
	behind := mm1(1e5, tenths, 1, 1, 1)
	for _, trial := range behind[4].Valid {
		trial.Run.Ops += trial.Run.Ops * 48 / 1000
	}
	c := Of(metrics.Sweep{SLO: "p99=100us"}, behind)
	if _, rows := c.Table(); c.Knee() == 4 || rows[4][len(rows[4])-1] != "backlog" || rows[4][5] != "0.0921 [0.0921, 0.0921]" {
		t.Errorf("knee %d, row %q", c.Knee(), rows[4])
	}
	if _, err := c.Objective.Keeps(c.Points[4]); err == nil || !strings.Contains(err.Error(), "backlog") {
		t.Errorf("a backlog keeps the objective: %v", err)
	}
}

// Where the trials around an objective disagree, the answer names noise, not a longer window.
func TestNoiseIsNamed(t *testing.T) {
	points := mm1(1e5, []float64{0.6, 0.7, 0.8, 0.9}, 1.9, 0.3, 1.8, 0.4, 1.7, 0.5, 1)
	c := Of(metrics.Sweep{SLO: "p99=200us"}, points)
	lines := c.Lines()
	if got := lines[len(lines)-1]; !strings.Contains(got, "noise hides the rate: at ") || !strings.Contains(got, " ops/s the trials' p99 is from 0.") || strings.Contains(got, "needs 6") {
		t.Errorf("%q", got)
	}
	points[0].Valid[3].Run.Latency = nil
	if _, err := c.Objective.Keeps(c.Points[0]); err == nil || !strings.Contains(err.Error(), "noise: at 60k ops/s, 6 of the 7 trials had calls enough for p99") {
		t.Errorf("one trial with too few calls: %v", err)
	}
}

// Six trials that all keep or all break the objective are clear; five are no interval, and
// trials on both sides are not clear.
func TestRateIsBracketed(t *testing.T) {
	six, mixed := []float64{1, 1.01, 0.99, 1.02, 0.98, 1}, []float64{1.3, 0.7, 1.2, 0.8, 1.1, 0.9}
	right := 1e5 * (1 - math.Log(100)*1e6/1e5/200) // where p99 is 200 us: at 77 %
	for _, test := range []struct {
		shares    []float64
		noise     []float64
		low, high float64
	}{
		{tenths, six, 7e4, 8e4}, {tenths, six[:5], 0, 0}, {tenths[:5], six, 5e4, 0}, {tenths[7:], six, 0, 8e4},
		{tenths, mixed, 7e4, 9e4}, {[]float64{0.5, 0.7, 1.1}, six, 7e4, 1.1e5},
	} {
		c := Of(metrics.Sweep{SLO: "p99=200us"}, mm1(1e5, test.shares, test.noise...))
		rate := c.Rate()
		known := test.low > 0 && test.high > 0
		exact := !known || slices.Max(test.shares) == 1.1 && len(test.shares) == 3 // the bracket's end is saturated
		if rate.Low < test.low-1 || rate.High > test.high+1 || exact && (math.Abs(rate.Low-test.low) > 1 || math.Abs(rate.High-test.high) > 1) {
			t.Errorf("shares %v, %d trials: %+v, want %v to %v", test.shares, len(test.noise), rate, test.low, test.high)
		}
		if known && (rate.Low > right || rate.High < right) || known != (rate.OpsPerS > 0) || known && (rate.OpsPerS < rate.Low || rate.OpsPerS > rate.High) {
			t.Errorf("shares %v: %+v", test.shares, rate)
		}
	}
	if rate := Of(metrics.Sweep{SLO: "p99=200us"}, mm1(1e5, []float64{0.76, 0.78}, six...)).Rate().OpsPerS; math.Abs(rate/right-1) > 0.001 {
		t.Errorf("the rate is %v, want %v", rate, right)
	}
}

// With a saturated trial in the bracket, the rate is between the two points around the
// limit, and the interval is the bracket.
func TestRateBesideSaturation(t *testing.T) {
	points := mm1(1e5, []float64{0.5, 0.7, 0.75, 0.8, 0.9}, 1, 1, 1, 1, 1, 1)
	saturated := mm1(1e5, []float64{1.1}, 1)[0].Valid[0]
	for i, factor := range []float64{1, 2, 2, 1, 1} { // 2 of 6 trials at 70 and 75 % break the objective
		if factor == 2 {
			points[i].Valid[0].Run, points[i].Valid[1].Run = saturated.Run, saturated.Run
		}
	}
	rate := Of(metrics.Sweep{SLO: "p99=200us"}, points).Rate()
	if want := math.Sqrt(7.5e4 * 8e4); math.Abs(rate.OpsPerS-want) > 1 || rate.Low != 5e4 || rate.High != 8e4 {
		t.Errorf("%+v, want %v in 50k to 80k", rate, want)
	}
}

// The table is recomputed here from the formulas, in 80 columns.
func TestTableOfAQueue(t *testing.T) {
	points := append(mm1(1e5, tenths, 1), metrics.Point{Values: []string{Peak}, Valid: []metrics.Trial{{Result: metrics.Result{OpsPerS: 1e5}, Run: new(metrics.Run)}}})
	c := Of(metrics.Sweep{SLO: "p99=100us"}, points)
	columns, rows := c.Table()
	if !slices.Equal(columns, []string{"of peak", "offered", "achieved", "p50", "p95", "p99", "p99.9", "late", "note"}) || len(rows) != len(tenths) || c.Peak != 1e5 {
		t.Fatalf("columns %q, %d rows, peak %v", columns, len(rows), c.Peak)
	}
	for i, want := range map[int]string{
		0: "10% 10k 10k 0.0077 0.0333 0.0512 - 0.05 ", 4: "50% 50k 50k 0.0139 0.0599 0.0921 - 0.05 knee",
		5: "60% 60k 60k 0.0173 0.0749 0.115 - 0.05 broken", 9: "110% 110k 100k - - - - - saturated",
	} {
		if got := strings.Join(rows[i], " "); got != want {
			t.Errorf("row %d is %q, want %q", i, got, want)
		}
	}
	text := c.String()
	for line := range strings.Lines(text) {
		if len(line) > 81 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
	if want := "peak 100k ops/s, of a closed loop\nknee at 50k ops/s, the highest throughput over mean latency\nSLO p99=100us: between 50k and 60k ops/s (no interval: it needs 6 trials a rate)"; !strings.HasSuffix(text, strings.Replace(want, "us:", "µs:", 1)) {
		t.Errorf("the text ends with\n%s\nwant\n%s", text, want)
	}
	if columns, _ := Of(metrics.Sweep{SLO: "p90=1ms"}, points).Table(); !slices.Contains(columns, "p90") {
		t.Errorf("columns %q have no p90", columns)
	}
}

// A rate of which more than a fifth of the trials failed has no result, and no place on
// the curve.
func TestFailedTrialsAreNoData(t *testing.T) {
	points := mm1(1e5, tenths[:3], 1, 1, 1)
	points[1].Failed = points[1].Valid[:1] // 1 of 4
	points[2].Failed, points[2].Valid = points[2].Valid, nil
	if c := Of(metrics.Sweep{}, points); len(c.Points) != 1 || c.Points[0].Offered != 1e4 {
		t.Errorf("%d points: %+v", len(c.Points), c.Points)
	}
}

func TestParseObjective(t *testing.T) {
	for text, want := range map[string]string{"p99.9=500us": "p99.9=500µs", "p95<2ms": "p95=2ms", "p50=1s": "p50=1s", "p99.99=5ms": "p99.99=5ms"} {
		if got, err := ParseObjective(text); err != nil || got.String() != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "p99", "p99=", "p99=5", "p98=5ms", "p99=-1ms", "p99=0s", "=5ms", "p99=5ms,p50=1ms"} {
		if got, err := ParseObjective(text); err == nil || got != (Objective{}) || !strings.Contains(err.Error(), "p50, p90, p95, p99, p99.9 and p99.99") {
			t.Errorf("%q: %+v, %v, want an error with the quantiles", text, got, err)
		}
	}
}
