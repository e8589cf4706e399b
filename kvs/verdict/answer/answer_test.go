package answer

import (
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// ratedTrials returns trials of one point with these rates.
func ratedTrials(rates ...float64) (plan metrics.Sweep, done []metrics.Trial) {
	for i, rate := range rates {
		planned := metrics.PlannedTrial{Number: i + 1}
		plan.Order = append(plan.Order, planned)
		done = append(done, metrics.Trial{PlannedTrial: planned, Result: metrics.Result{OpsPerS: rate, Verdict: metrics.Verdict{Valid: true}}, Run: &metrics.Run{}})
	}
	return plan, done
}

// Six rates that fall from trial to trial have a trend by the normal approximation,
// p 0.0085; with one pair in the other order they have none below 0.01.
func TestCaveatsOfTrials(t *testing.T) {
	if a := OfTrials(ratedTrials(6, 5, 4, 3, 2, 1)); len(a.Caveats) != 1 || !strings.Contains(a.Caveats[0].Text, "trend in the order of the trials (Mann-Kendall p 0.0085)") || a.Verdict != "VALID, with 1 caveat" {
		t.Errorf("%+v, want a trend", a)
	}
	if a := OfTrials(ratedTrials(6, 5, 4, 3, 1, 2)); len(a.Caveats) != 0 || a.Verdict != "VALID" {
		t.Errorf("%+v of rates that are not in order, want no caveat", a)
	}
	plan, done := ratedTrials(1, 3, 2)
	done[0].Run.WarmUp, done[2].Run.WarmUp = &stats.Stationarity{}, &stats.Stationarity{}
	done[2].Run.Ceiling = &metrics.Ceiling{Headroom: 1.2, ClientBound: true}
	var got []string
	for _, r := range OfTrials(plan, done).Caveats {
		got = append(got, r.Name+r.Text[strings.LastIndex(r.Text, ","):])
	}
	if all, want := strings.Join(got, "; "), "NON-STATIONARY, and likewise in 1 more of 3 trials; CLIENT-BOUND, in 1 of 3 trials"; all != want {
		t.Errorf("caveats %q, want %q", all, want)
	}
}

// Trials of which some failed or are left are no result: the number of the others is not
// the headline.
func TestAnswerOfUnfinishedTrials(t *testing.T) {
	plan, done := ratedTrials(5e6, 6e6, 7e6)
	if a := OfTrials(plan, done[:2]); a.Good || a.Verdict != "INCOMPLETE" || strings.Contains(a.Headline, "ops/s") || !strings.Contains(a.Basis, "2 of 3 trials made; so far 5.5M ops/s") {
		t.Errorf("%+v", a)
	}
	done[1].Verdict = metrics.Verdict{Reason: "3 misses", Node: "n1"}
	if a := OfTrials(plan, done); a.Good || a.Headline != "1 of 3 trials failed, first trial 2: 3 misses (n1)" || a.Basis != "" || a.Checked != "" {
		t.Errorf("%+v", a)
	}
	done[1].Verdict = metrics.Verdict{Valid: true}
	done[1].Earlier = []metrics.Attempt{{Verdict: metrics.Verdict{Reason: "cannot be reached"}, Outside: true}, {}}
	if a := OfTrials(plan, done); !a.Good || !strings.HasSuffix(a.Checked, "; made again: trial 2 1 time, as it broke: cannot be reached; for the longer window or smaller batch of a later trial: 2") {
		t.Errorf("%+v", a)
	}
}

// The answer tells kinds apart whose intervals are, and says of mixed calls that a kind has
// its call's time.
func TestLatencyByKind(t *testing.T) {
	at := func(p50, low, high float64) metrics.Quantiles {
		return metrics.Quantiles{Values: 9, P50: &p50, CI95: map[string][2]float64{"p50": {low, high}}}
	}
	for want, test := range map[string]struct {
		get, put metrics.Quantiles
		calls    uint64
	}{
		"closed loop; get p50 1; put p50 3 ms":                             {at(1000, 900, 1100), at(3000, 2900, 3100), 18},
		"closed loop":                                                      {at(1000, 900, 1100), at(1200, 1100, 1300), 18},
		"closed loop; a kind has its call's time":                          {at(1000, 900, 1100), at(1200, 1100, 1300), 9},
		"closed loop; get p50 1; put p50 3 ms; a kind has its call's time": {at(1000, 900, 1100), at(3000, 1101, 3100), 2},
	} {
		run := metrics.Run{Latency: map[string]metrics.Quantiles{metrics.CallLatency: test.get, "get": test.get, "put": test.put}}
		run.Nodes = []metrics.RunNode{{Role: metrics.Server}, {Role: metrics.Client, Summary: &metrics.Summary{InWindow: metrics.Counts{Gets: 9, Puts: 9, Calls: test.calls}}}}
		if got := latencyOf(run); got != "of a call: p50 1 ms; "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A round of more operations than there are records repeats keys.
func TestFewRecords(t *testing.T) {
	for records, want := range map[string]bool{"100": true, "16383": true, "16384": false, "1000000": false} {
		run := metrics.Run{Result: metrics.Result{Verdict: metrics.Verdict{Valid: true}}, Workload: metrics.Settings{"records": records, "batch": "8192"}, Nodes: []metrics.RunNode{{Role: metrics.Server}, {Role: metrics.Server}}}
		all := Of(run).Caveats
		for _, name := range []string{"replay", "rate"} {
			run.Workload[name] = "1x"
			if other := Of(run).Caveats; len(other) > 0 && other[0].Name == "FEW RECORDS" {
				t.Errorf("-%s: %v", name, other)
			}
			delete(run.Workload, name)
		}
		if got := len(all) > 0 && all[0].Name == "FEW RECORDS" && all[0].Text == "a round has 16384 operations on "+records+" records: its calls repeat keys"; got != want {
			t.Errorf("%s records: %v", records, all)
		}
	}
}

func TestOneMachine(t *testing.T) {
	on := func(hosts ...string) (nodes []metrics.RunNode) {
		for _, host := range hosts {
			nodes = append(nodes, metrics.RunNode{Config: &metrics.Config{Host: metrics.Host{Hostname: host}}})
		}
		return nodes
	}
	for _, test := range []struct {
		nodes []metrics.RunNode
		want  bool
	}{
		{on("a", "a"), true}, {on("a", "a", "b"), false}, {on("", ""), false}, {on("a"), false}, {append(on("a", "a"), metrics.RunNode{}), false}, {nil, false},
	} {
		if got := oneMachine(test.nodes); got != test.want {
			t.Errorf("oneMachine of %d nodes is %v, want %v", len(test.nodes), got, test.want)
		}
	}
}

// Clients that count over 2 % more than the servers in all trials are named, and so are
// windows of different lengths and an interval that --until did not reach.
func TestWindowsOfTrials(t *testing.T) {
	opens := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	plan, done := ratedTrials(5e6, 6e6, 7e6)
	plan.Until = 0.02
	for i := range done {
		marks := func(ops uint64) *metrics.Marks {
			return &metrics.Marks{Start: opens.Add(-time.Second), AtS: []float64{0, 2}, Ops: []uint64{ops, ops + 100}}
		}
		late := *marks(20_000)
		late.Start = opens.Add(9 * time.Second)
		server := metrics.Summary{Opening: marks(10_000), Closing: &late, Total: metrics.Counts{Gets: 30_000}}
		run := metrics.Run{WindowStart: opens, Nodes: []metrics.RunNode{{Role: metrics.Server, Summary: &server}}}
		run.Verdict, run.WindowS = metrics.Verdict{Valid: true}, 10
		run.Ops = 10_400 // the servers applied 9,900 to 10,100
		run.Window = &metrics.WindowLength{AskedS: 5, NeedsS: 5, UsedS: float64(5 + i)}
		done[i].Run = &run
	}
	text := ""
	for _, r := range OfTrials(plan, done).Caveats {
		text += r.String() + "\n"
	}
	for _, want := range []string{"in all trials the clients counted +", "(LEAN)", "windows are 5 to 7 s long", "(WINDOWS)", "--until 2% is not reached: ", "(UNTIL)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the caveats lack %q:\n%s", want, text)
		}
	}
	done[1].Run.Ops = 10_000
	for _, r := range OfTrials(plan, done).Caveats {
		if r.Name == "LEAN" {
			t.Errorf("two of three trials lean: %s", r)
		}
	}
}

// Memory of a store that grows by more than its calls, its inserts and a collector explain is
// named with both figures.
func TestMemoryGrowth(t *testing.T) {
	for _, test := range []struct {
		name    string
		most    uint64
		inserts uint64
		want    string
	}{
		{"sixfold", 300e6, 0, "the store's memory on node0 grew from 50 MB to 300 MB in the window"},
		{"a heap between two collections", 100e6, 0, ""},
		{"a third of the operations insert", 300e6, 5e5, ""},
	} {
		host := metrics.RunNode{Name: "node0", Role: metrics.Server, Config: &metrics.Config{Capabilities: &metrics.Capabilities{Store: true, Driver: "redis"}},
			Summary: &metrics.Summary{Saturation: &metrics.Saturation{OpeningRSSBytes: 50e6, ProcessRSSBytes: test.most}}}
		client := metrics.RunNode{Role: metrics.Client, Summary: &metrics.Summary{InWindow: metrics.Counts{Gets: 1e6, Inserts: test.inserts, Calls: 1e4}, BytesInWindow: metrics.Bytes{Sent: 1e8, Received: 1e8}}}
		run := metrics.Run{Nodes: []metrics.RunNode{host, client}, Workload: metrics.Settings{"workers": "64", "inflight": "1"}}
		if got := strings.Join(memoryGrowth(run), "; "); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// A check that doubts is a caveat with its advice, and so is the kill of a server.
func TestCaveats(t *testing.T) {
	run := metrics.Run{Result: metrics.Result{Verdict: metrics.Verdict{Valid: true}, Counting: metrics.CountsBounded}, Restart: &metrics.Restart{Server: "s1"},
		Checks: []metrics.CheckResult{{ID: "drift", Outcome: metrics.CheckDoubted, Evidence: "the rate drifted"}, {ID: "link", Outcome: metrics.CheckPassed, Evidence: "it has room"}}}
	a := Of(run)
	var got []string
	for _, r := range a.Caveats {
		got = append(got, r.String())
	}
	want := "the rate drifted: look for what changes while the store runs, or warm up longer (DRIFT); a server was killed in the window: leave out --restart-at for a number to rank (RESTARTED)"
	if text := strings.Join(got, "; "); text != want || !strings.HasPrefix(a.Restart, "s1 was killed") || !strings.Contains(a.Checked, "counts bounded, as a server was killed") {
		t.Errorf("%+v, want the caveats %s", a, want)
	}
}

// Trials of an open loop have the latency since operations were due, as a single run has.
func TestLatencyOfPoint(t *testing.T) {
	call, op := 1000., 5000.
	trial := metrics.Trial{P50: &call, P99: &call, OpP50: &op, OpP99: &op}
	for rate, want := range map[float64]string{
		0:   "of a call at x: p50 1, p99 1 ms, the medians of the trials",
		100: "of an operation since it was due at x: p50 5, p99 5 ms, the medians of the trials",
	} {
		trial.OfferedOpsPerS = rate
		if got := latencyOfPoint(metrics.Point{Valid: []metrics.Trial{trial}}, " at x"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What ended a run early, and what it did not find, stands beside what was checked.
func TestCheckedSaysWhatDiffers(t *testing.T) {
	run := metrics.Run{Workload: metrics.Settings{"ops": "10000000", "ttl": "3s"}, Skew: &metrics.Skew{HitRate: 0.7768, TopShare: 1}}
	run.Ops = 536_000
	if got := checkedOf(run); !strings.Contains(got, "the first 536k of 10M operations, until -secs were over, 77.7 % of the reads found their key, as keys expire") {
		t.Errorf("%q", got)
	}
}

// The rate of the commits is that of the operations, whose number in each is the same.
func TestCommits(t *testing.T) {
	run := metrics.Run{Workload: metrics.Settings{"txn": "3"}, Transactions: &metrics.TransactionCounts{
		Attempts: 150, Commits: 100, Aborts: map[string]uint64{"late": 10, "conflict": 40}, Single: 25, Cross: 75, Parts: 150, Ops: 300, Retries: []uint64{92, 8}}}
	run.OpsPerS = 36000
	want := "12k/s of 3 operations, 0.5 aborts a commit (conflict 0.4, late 0.1); 8 % were tried again, 25 % touched one server; latency counts from the first attempt"
	if got := Commits(run); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := Commits(metrics.Run{}); got != "" {
		t.Errorf("without -txn: %s", got)
	}
}
