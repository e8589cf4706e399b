package experiment

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/curve"
	"kvlab/metrics/stats"
)

// queue is an M/M/1 store: the sojourn time of an operation is exponential with mean
// 1/(mu-lambda) (Kleinrock, Queueing Systems I, 1975, section 3.2). The latencies of a trial
// are off by a common factor, whose distribution is skewed as those of latencies are, and
// has the median 1.
type queue struct {
	mu     float64 // ops/s
	noise  float64
	random *rand.Rand
	made   []PlannedTrial
}

func (q *queue) trial(p PlannedTrial) metrics.Trial {
	run := metrics.Run{Result: metrics.Result{Verdict: metrics.Verdict{Valid: true}, OpsPerS: q.mu * (1 + 0.01*q.random.NormFloat64()), Ops: 1e6}}
	if _, text, open := strings.Cut(p.Spec.Args, "-rate "); open {
		lambda, _ := strconv.ParseFloat(strings.TrimSuffix(text, "'"), 64)
		run.OpsPerS = min(lambda, 0.97*q.mu)
		run.Offered = &metrics.Offered{Arrivals: "poisson", OpsPerS: lambda, Ops: 1e6}
		run.Ops = uint64(1e6 * run.OpsPerS / lambda)
		mean := 1e6 / (q.mu - lambda) * math.Exp(q.noise*(q.random.ExpFloat64()-math.Ln2))
		at := func(share float64) *float64 { return new(-mean * math.Log(1-share)) }
		run.Latency = map[string]metrics.Quantiles{metrics.OpLatency: {Count: 1e6, Mean: mean, P50: at(0.5), P95: at(0.95), P99: at(0.99)}}
	}
	return metrics.TrialOf(p.PlannedTrial, p.Folder(), run)
}

func (q *queue) group(done []metrics.Trial, group Group) ([]metrics.Trial, error) {
	q.made = append(q.made, group...)
	return append(done, q.trial(group[0])), nil
}

// curveOf returns a curve with a seed.
func curveOf(seed uint64, slo string, rates ...string) Curve {
	c := Curve{Rates: rates, PeakSecs: 3}
	c.Objective, _ = curve.ParseObjective(slo)
	c.Plan = c.Planned(metrics.Sweep{Trials: 3, Seed: seed})
	return c
}

// The p99 of an M/M/1 queue's sojourn time is ln(100)/(mu-lambda), so p99 <= d holds up to
// mu - ln(100)/d. The 95 % interval of a search holds this rate in at least 95 % of the
// seeds, at a low and at a high rate, with trials that are alike and with trials that are
// not; and it is narrow where the latencies tell the rates apart.
func TestSLOOfAQueue(t *testing.T) {
	const mu = 1e5
	seeds, all, allMissed := 60, 0, 0
	if os.Getenv("KVLAB_LONG") == "1" {
		seeds = 2000
	}
	for _, test := range []struct{ share, noise, width float64 }{{0.3, 0.02, 1.08}, {0.3, 0.1, 1.35}, {0.7, 0.05, 1.05}, {0.7, 0.2, 1.15}, {0.9, 0.1, 1.03}, {0.98, 0.1, 1.12}} {
		right := test.share * mu
		d := time.Duration(math.Log(100) / (mu - right) * 1e9)
		missed, open, trials := 0, 0, 0
		var off, widths []float64
		for seed := range uint64(seeds) {
			c := curveOf(seed, "p99="+d.String())
			q := &queue{mu: mu, noise: test.noise, random: rand.New(rand.NewPCG(seed, 1))}
			done, err := Run(context.Background(), c, nil, q.group)
			if err != nil {
				t.Fatal(err)
			}
			rate := c.curve(done).Rate()
			trials += len(done)
			if rate.Low > right || rate.High > 0 && rate.High < right {
				missed++
			}
			if rate.OpsPerS == 0 {
				open++
				continue
			}
			off, widths = append(off, math.Abs(rate.OpsPerS/right-1)), append(widths, rate.High/rate.Low)
		}
		width := stats.Median(widths)
		t.Logf("%+v: %d of %d missed, %d with one end; off by %.3f, width %.3f in the median; %d trials", test, missed, seeds, open, stats.Median(off), width, trials/seeds)
		if all, allMissed = all+seeds, allMissed+missed; width > test.width || trials > 60*seeds {
			t.Errorf("%+v: the median width is %.3f, %d trials", test, width, trials/seeds)
		}
	}
	if allMissed > all*5/100 {
		t.Errorf("%d of %d intervals miss the rate", allMissed, all)
	}
}

// From any trial on, a curve goes on as the one that was not cut off, also when its trials
// were read from files.
func TestCurveResumes(t *testing.T) {
	for name, c := range map[string]Curve{
		"slo": curveOf(5, "p99=150us"), "curve": curveOf(5, "", "20%", "50%", "90%", "120%", "3000"), "both": curveOf(5, "p95=150us", "20%", "50%", "90%"),
	} {
		t.Run(name, func(t *testing.T) {
			q := &queue{mu: 1e5, noise: 0.1, random: rand.New(rand.NewPCG(5, 5))}
			done, err := Run(context.Background(), c, nil, q.group)
			if err != nil || len(done) < 15 {
				t.Fatalf("%d trials, %v", len(done), err)
			}
			for cut := range done {
				again := c
				text, err := json.Marshal(c.Files(done[:cut], false)[metrics.SweepFile])
				if err != nil {
					t.Fatal(err)
				}
				again.Plan = metrics.Sweep{}
				if err := json.Unmarshal(text, &again.Plan); err != nil {
					t.Fatal(err)
				}
				groups, err := again.Next(done[:cut])
				if err != nil || len(groups) == 0 || !reflect.DeepEqual(groups[0][0], q.made[cut]) {
					t.Fatalf("after %d trials: %v, %v, want %v", cut, groups, err, q.made[cut])
				}
			}
			if groups, err := c.Next(done); len(groups) > 0 || err != nil {
				t.Errorf("at the end: %v, %v", groups, err)
			}
			end := c.Conclude(done, nil)
			text, verdict := end.Full, end.Verdict
			if !verdict.Valid || !strings.Contains(text, "\nknee ") || strings.Contains(text, "\nSLO ") != (name != "curve") {
				t.Errorf("verdict %v:\n%s", verdict, text)
			}
		})
	}
}

// The rates follow from the median peak, and without one the curve ends with the verdict
// of its first trial.
func TestCurveNeedsItsPeak(t *testing.T) {
	c := curveOf(1, "", "50%", "2.5k")
	var done []metrics.Trial
	for i, rate := range []float64{4000, 1000, 2000} {
		done = append(done, metrics.Trial{PlannedTrial: c.Plan.Order[i], Result: metrics.Result{OpsPerS: rate, Verdict: metrics.Verdict{Valid: true}}, Run: new(metrics.Run)})
	}
	groups, err := c.Next(done)
	if err != nil || len(groups) != 6 {
		t.Fatalf("%d groups, %v; want 6", len(groups), err)
	}
	for _, group := range groups {
		want := map[string]string{"50%": "--client-args '-rate 1000'", "2.5k": "--client-args '-rate 2.5k'"}[group[0].Point[0]]
		if group[0].Spec.Args != want || group[0].Of != 9 {
			t.Errorf("%+v, want %q", group[0], want)
		}
	}
	for i := range done {
		done[i].Verdict = metrics.Verdict{Reason: "died"}
	}
	_, err = c.Next(done)
	if verdict := c.Conclude(done, err).Verdict; err == nil || verdict.Reason != "died" {
		t.Errorf("error %v, verdict %v", err, verdict)
	}
}

func TestParseRates(t *testing.T) {
	if got, err := ParseRates("100k,2.5M,50,12.5%"); err != nil || !slices.Equal(got, []string{"100000", "2500000", "50", "12.5%"}) {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"", "x", "10%,", "0", "-5", "5k%", "100k,100000", "10%,10%"} {
		if got, err := ParseRates(text); err == nil {
			t.Errorf("%q: %q, want an error", text, got)
		}
	}
}
