package verdict

import (
	"strings"
	"testing"

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
	if a := AnswerOfTrials(ratedTrials(6, 5, 4, 3, 2, 1)); len(a.Caveats) != 1 || !strings.Contains(a.Caveats[0].Text, "trend in the order of the trials (Mann-Kendall p 0.0085)") || a.Verdict != "VALID, with 1 caveat" {
		t.Errorf("%+v, want a trend", a)
	}
	if a := AnswerOfTrials(ratedTrials(6, 5, 4, 3, 1, 2)); len(a.Caveats) != 0 || a.Verdict != "VALID" {
		t.Errorf("%+v of rates that are not in order, want no caveat", a)
	}
	plan, done := ratedTrials(1, 3, 2)
	done[0].Run.WarmUp, done[2].Run.WarmUp = &stats.Stationarity{}, &stats.Stationarity{}
	done[2].Run.Ceiling = &metrics.Ceiling{Headroom: 1.2, ClientBound: true}
	var got []string
	for _, r := range AnswerOfTrials(plan, done).Caveats {
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
	if a := AnswerOfTrials(plan, done[:2]); a.Good || a.Verdict != "INCOMPLETE" || strings.Contains(a.Headline, "ops/s") || !strings.Contains(a.Basis, "2 of 3 trials made; so far 5.5M ops/s") {
		t.Errorf("%+v", a)
	}
	done[1].Verdict = metrics.Verdict{Reason: "3 misses", Node: "n1"}
	if a := AnswerOfTrials(plan, done); a.Good || a.Headline != "1 of 3 trials failed, first trial 2: 3 misses (n1)" || a.Basis != "" || a.Checked != "" {
		t.Errorf("%+v", a)
	}
	done[1].Verdict = metrics.Verdict{Valid: true}
	done[1].Earlier = []metrics.Attempt{{Verdict: metrics.Verdict{Reason: "cannot be reached"}, Outside: true}, {}}
	if a := AnswerOfTrials(plan, done); !a.Good || !strings.HasSuffix(a.Checked, "; made again: trial 2 1 time, as it broke: cannot be reached; for the longer window or smaller batch of a later trial: 2") {
		t.Errorf("%+v", a)
	}
}

// A round of more operations than there are records repeats keys.
func TestFewRecords(t *testing.T) {
	for records, want := range map[string]bool{"100": true, "16383": true, "16384": false, "1000000": false} {
		run := metrics.Run{Result: metrics.Result{Verdict: metrics.Verdict{Valid: true}}, Workload: metrics.Settings{"records": records, "batch": "8192"}, Nodes: []metrics.RunNode{{Role: metrics.Server}, {Role: metrics.Server}}}
		all := AnswerOf(run).Caveats
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
