package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// The arguments of compared pairs. Their work fits a core's caches and makes no garbage,
// so that its cost varies little between processes.
const (
	comparedServer = "-engine slab"
	comparedClient = "-secs 1.5 -warmup 0.5 -records 2000 -workers 2 -batch 256"
)

// selfTestPairs is the number of pairs in a comparison: 10 trials.
const selfTestPairs = 5

// The sizes of the faults, and the limits of the comparisons.
const (
	pause       = 100 * time.Millisecond
	service     = time.Millisecond
	sampleTimes = 50   // samples a second that are compared with none
	sampleCost  = 0.01 // of an operation's processor time that one sample a second may cost
	comparisons = 20   // of one configuration with itself
	mostApart   = 1    // of them that may be told apart
)

// selfTests are the tests of the instrument.
var selfTests = []test{
	{
		workloads: []workload{
			{"pause, open loop", "-inject pause=100ms@4s", "-secs 4 -rate 2000"},
			{"pause, closed loop", "-inject pause=100ms@4s", "-secs 4"},
		},
		check: checkPause,
	},
	{
		workloads: []workload{
			{"service time, 1 ms", "-inject service=1ms", "-secs 2 -workers 1 -batch 8"},
			{"service time, 2 ms", "-inject service=2ms", "-secs 2 -workers 1 -batch 8"},
		},
		check: checkService,
	},
	{
		full: true, pairs: selfTestPairs,
		workloads: []workload{
			{"slowdown", comparedServer, comparedClient},
			{"slowdown", comparedServer + " -inject slowdown=5%", comparedClient},
		},
		check: checkSlowdown,
	},
	{
		full: true, pairs: 2 * selfTestPairs,
		workloads: []workload{
			{"samples", comparedServer + " -sample-every 0", comparedClient + " -sample-every 0"},
			{"samples", comparedServer + " -sample-every 20ms", comparedClient + " -sample-every 20ms"},
		},
		check: checkSamples,
	},
	{
		full: true, pairs: comparisons * selfTestPairs,
		workloads: []workload{{"alike", comparedServer, comparedClient}, {"alike", comparedServer, comparedClient}},
		check:     checkAlike,
	},
}

// checkPause checks the latency of servers that pause for 100 ms once in 4 s. An open loop
// sees the pause in 1 of 40 operations, which take 0 to 100 ms in equal shares. So a share
// of (100 - t) / 4000 takes longer than t ms, 1 % longer than 60 ms. A quarter of the pause
// is six standard deviations less. The median of a closed loop does not see the pause.
func checkPause(quick bool, runs [][]*metrics.Run) ([]check, error) {
	seen, calls := runs[0][0].Latency[metrics.OpLatency], runs[1][0].Latency[metrics.CallLatency]
	checks := []check{within("servers pause for 100 ms once in 4 s: maximum of operations, open loop", &seen.Max, pause*9/10, 0, "")}
	most := pause / 2
	if !quick || seen.Refused == "" { // a stall of a slow machine at the window's end leaves no percentiles
		checks = append(checks, within("the same: p99", seen.P99, pause/4, 0, seen.Refused))
	}
	if !quick {
		checks = append(checks, within("the same: p99.9", seen.P999, pause/2, 0, seen.Refused))
		most = pause / 10
	}
	return append(checks, within("the same: p50 of calls, closed loop", calls.P50, 0, most, "")), nil
}

// checkService measures servers that take 1 ms and 2 ms longer for each call: the server's
// part of the call, and the difference of 1 ms between the calls. The difference from
// servers without a delay is larger, as waking idle processors takes time.
func checkService(quick bool, runs [][]*metrics.Run) ([]check, error) {
	one, two := runs[0][0], runs[1][0]
	low, high := service*95/100, service*105/100
	server, call, longer := one.Latency[metrics.ServerLatency].P50, one.Latency[metrics.CallLatency].P50, two.Latency[metrics.CallLatency].P50
	if quick {
		return []check{
			within("servers take 1 ms longer for each call: server's part, p50", server, low, 0, ""),
			within("the same: call, p50", call, low, 0, ""),
		}, nil
	}
	var more *float64
	if call != nil && longer != nil {
		more = new(*longer - *call)
	}
	return []check{
		within("servers take 1 ms longer for each call: server's part, p50", server, low, high, ""),
		within("servers take 1 ms longer than 1 ms: call, p50, less that of 1 ms", more, low, high, ""),
	}, nil
}

// checkSlowdown finds servers that take 5 % more processor time. It compares processor
// time: where clients share the servers' processors, ops/s change by less than 5 % and
// vary by more.
func checkSlowdown(_ bool, runs [][]*metrics.Run) ([]check, error) {
	cost, err := ratioOf(runs[0], runs[1], serverCost)
	low, high := cost.RatioInterval(stats.TogetherConfidence)
	return []check{{
		What:     fmt.Sprintf("servers that burn 5 %% more: %d pairs, %d trials, the servers' processor time per operation", len(runs[0]), 2*len(runs[0])),
		Asked:    fmt.Sprintf("the %g %% interval lies above 1", 100*stats.TogetherConfidence),
		Measured: fmt.Sprintf("%.3f, %.3f to %.3f; could see %s", cost.Ratio(), low, high, cost.SmallestPercent(stats.TogetherConfidence)),
		Passed:   apart(cost) == stats.Above,
	}}, err
}

// checkSamples measures the cost of sampling the machine. One sample a second is too
// small beside a run's variation, so it compares 50 a second with none, and divides the
// difference by 50.
func checkSamples(_ bool, runs [][]*metrics.Run) ([]check, error) {
	r, err := ratioOf(runs[0], runs[1], bothCost)
	cost := func(ratio float64) float64 { return (ratio - 1) / sampleTimes }
	low, high := r.RatioInterval(stats.TogetherConfidence)
	return []check{{
		What:     fmt.Sprintf("a sample a second against none, as a %dth of %d a second: %d pairs, processor time per operation", sampleTimes, sampleTimes, len(runs[0])),
		Asked:    fmt.Sprintf("the %g %% interval lies below %g %%", 100*stats.TogetherConfidence, 100*sampleCost),
		Measured: fmt.Sprintf("%.3f %%, %.3f to %.3f %%", 100*cost(r.Ratio()), 100*cost(low), 100*cost(high)),
		Passed:   cost(high) < sampleCost,
	}}, err
}

// checkAlike compares one configuration with itself.
func checkAlike(_ bool, runs [][]*metrics.Run) ([]check, error) {
	var checks []check
	for _, figure := range []struct {
		name string
		of   func(*metrics.Run) float64
	}{{"the servers' processor time per operation", serverCost}, {"ops/s", opsPerS}} {
		told := 0
		for from := 0; from < len(runs[0]); from += selfTestPairs {
			r, err := ratioOf(runs[0][from:from+selfTestPairs], runs[1][from:from+selfTestPairs], figure.of)
			if err != nil {
				return nil, err
			}
			if o := apart(r); o == stats.Above || o == stats.Below {
				told++
			}
		}
		checks = append(checks, check{
			What:     fmt.Sprintf("one configuration against itself: comparisons of %d pairs, %s", selfTestPairs, figure.name),
			Asked:    fmt.Sprintf("at most %d of %d told apart", mostApart, comparisons),
			Measured: fmt.Sprintf("%d of %d", told, comparisons),
			Passed:   told <= mostApart,
		})
	}
	return checks, nil
}

// check is one line of the self-test's table.
type check struct {
	What     string `json:"what"`
	Asked    string `json:"asked"`
	Measured string `json:"measured"`
	Passed   bool   `json:"passed"`
}

// within requires a latency, in microseconds, between low and high; a bound of 0 is none.
// An unknown latency fails; refused says why, if that is known.
func within(what string, us *float64, low, high time.Duration, refused string) check {
	c := check{What: what, Asked: fmt.Sprintf("%v to %v", low, high), Measured: strings.TrimSpace("n/a " + refused)}
	switch {
	case low == 0:
		c.Asked = fmt.Sprintf("at most %v", high)
	case high == 0:
		c.Asked = fmt.Sprintf("at least %v", low)
	}
	if us != nil {
		latency := time.Duration(*us * float64(time.Microsecond))
		c.Measured = latency.String()
		c.Passed = latency >= low && (high == 0 || latency <= high)
	}
	return c
}

// ratioOf compares pairs of runs by a figure, which must be positive.
func ratioOf(runsA, runsB []*metrics.Run, figure func(*metrics.Run) float64) (stats.Comparison, error) {
	var a, b []float64
	for i := range runsA {
		a, b = append(a, figure(runsA[i])), append(b, figure(runsB[i]))
	}
	if slices.Min(a) <= 0 || slices.Min(b) <= 0 {
		return stats.Comparison{}, errors.New("a node did not say what it used")
	}
	return stats.Compare(a, b, stats.Paired), nil
}

// apart returns whether a ratio is surely above or below 1.
func apart(c stats.Comparison) stats.Outcome { return c.In(0, 0).Outcome(1 - stats.TogetherConfidence) }

// opsPerS returns a run's throughput.
func opsPerS(run *metrics.Run) float64 { return run.OpsPerS }

// serverCost returns the servers' processor time per operation.
func serverCost(run *metrics.Run) float64 { return run.CPUPerOp(metrics.Server) }

// bothCost returns the processor time of servers and clients per operation.
func bothCost(run *metrics.Run) float64 { return run.CPUPerOp(metrics.Server, metrics.Client) }
