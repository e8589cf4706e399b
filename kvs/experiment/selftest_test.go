package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"kvlab/kvs/verdict"
	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// A latency passes between its bounds, and one that there is not never does.
func TestSelfTestBounds(t *testing.T) {
	us := func(v float64) *float64 { return &v }
	for _, test := range []struct {
		got      check
		passed   bool
		measured string
	}{
		{within("x", us(1040), 950*time.Microsecond, 1050*time.Microsecond, ""), true, "1.04ms"},
		{within("x", us(1051), 950*time.Microsecond, 1050*time.Microsecond, ""), false, "1.051ms"},
		{within("x", us(949), 950*time.Microsecond, 1050*time.Microsecond, ""), false, "949µs"},
		{within("x", nil, 0, time.Millisecond, ""), false, "n/a"},
		{within("x", us(100e3), 90*time.Millisecond, 0, ""), true, "100ms"},
		{within("x", us(10), 90*time.Millisecond, 0, ""), false, "10µs"},
		{within("x", nil, time.Millisecond, 0, "(saturated)"), false, "n/a (saturated)"},
	} {
		if test.got.Passed != test.passed || test.got.Measured != test.measured {
			t.Errorf("%+v, want %v and %q", test.got, test.passed, test.measured)
		}
	}
}

// One test that fails fails the whole, by name; what ended it early says so.
func TestSelfTestVerdict(t *testing.T) {
	good, bad := check{What: "one", Passed: true}, check{What: "two", Asked: "1", Measured: "2"}
	failed := metrics.Trial{Folder: "trial-003", Result: metrics.Result{Verdict: metrics.Verdict{Reason: "died", Node: "node1"}}}
	for _, test := range []struct {
		tests []check
		ended error
		want  string
	}{
		{[]check{good, good}, nil, "VALID"},
		{[]check{good, bad}, nil, "INVALID(self-test: two: 2, asked 1)"},
		{[]check{good}, &trialError{failed, "x"}, "INVALID(a trial of the self-test failed: trial-003 (x): verdict INVALID(died, node1), node1)"},
	} {
		if got := selfTestVerdict(test.tests, test.ended).String(); got != test.want {
			t.Errorf("%v: %s, want %s", test.ended, got, test.want)
		}
	}
}

// The ratio of pairs is the mean of their ratios; a node that did not say what it
// used is no figure.
func TestRatioOfRuns(t *testing.T) {
	var a, b []*metrics.Run
	for i := range 7 {
		rate := 1e6 * float64(i+1)
		a, b = append(a, &metrics.Run{Result: metrics.Result{OpsPerS: rate}}), append(b, &metrics.Run{Result: metrics.Result{OpsPerS: 1.05 * rate}})
	}
	r, err := ratioOf(a, b, opsPerS)
	if low, high := r.RatioInterval(0.95); err != nil || low < 1.0499 || high > 1.0501 || apart(r) != stats.Above {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := ratioOf(a, b, func(*metrics.Run) float64 { return 0 }); err == nil {
		t.Error("a ratio of nothing")
	}
}

// The quick form has four trials and five checks, which follow from the trials.
func TestQuickSelfTest(t *testing.T) {
	s := SelfTest{Quick: true, Plan: metrics.Sweep{Seed: 3}}
	us := func(v float64) *float64 { return &v }
	labels := map[int]string{}
	make := func(done []metrics.Trial, group Group) ([]metrics.Trial, error) {
		p := group[0]
		if labels[p.Number] = p.Label; p.Of != 4 {
			t.Errorf("trial %s", p)
		}
		run := metrics.Run{Result: metrics.Result{Verdict: metrics.Verdict{Check: verdict.Injected}}, Latency: map[string]metrics.Quantiles{
			metrics.OpLatency:     {Max: 100_000, P99: us(60_000)},
			metrics.CallLatency:   {P50: us([]float64{5, 5, 1000, 2000}[p.Number-1])},
			metrics.ServerLatency: {P50: us(1000)},
		}}
		return append(done, metrics.TrialOf(p.PlannedTrial, p.Folder(), run)), nil
	}
	done, err := Run(context.Background(), s, nil, make)
	if err != nil || len(done) != 4 || labels[4] != "service time, 2 ms" {
		t.Fatalf("%v, %d trials: %+v", err, len(done), done)
	}
	end := s.Conclude(done, nil)
	text, verdict := end.Full, end.Verdict
	if !verdict.Valid || strings.Count(text, "  yes\n") != 5 {
		t.Errorf("verdict %v on\n%s", verdict, text)
	}
	files := s.Files(done, true)
	if len(files) != 1 {
		t.Errorf("files %v", files)
	}
	if text, err := json.Marshal(files[selfTestFile]); err != nil || !strings.HasPrefix(string(text), `{"form":"quick","command":null,"git_commit":"","seed":3,"trials":4,"pairs_made_again":0,"checks":[{"what":"servers pause`) {
		t.Errorf("%s: %v", text, err)
	}
}

// A loop that is timed from the send has the pause in its maximum and not in its p99. A
// saturated loop of a slow machine has no p99.
func TestPauseInP99(t *testing.T) {
	for _, test := range []struct {
		quick bool
		op    metrics.Quantiles
		want  bool
	}{
		{true, metrics.Quantiles{Max: 100_000, P99: new(60_000.)}, true},
		{true, metrics.Quantiles{Max: 100_000, P99: new(1000.)}, false},
		{true, metrics.Quantiles{Max: 100_000, Refused: "saturated"}, true},
		{false, metrics.Quantiles{Max: 100_000, P999: new(90_000.), Refused: "saturated"}, false},
	} {
		op := &metrics.Run{Latency: map[string]metrics.Quantiles{metrics.OpLatency: test.op}}
		call := &metrics.Run{Latency: map[string]metrics.Quantiles{metrics.CallLatency: {P50: new(100.)}}}
		checks, err := checkPause(test.quick, [][]*metrics.Run{{op}, {call}})
		if got := selfTestVerdict(checks, err); got.Valid != test.want {
			t.Errorf("quick %v, %+v: %s", test.quick, test.op, got)
		}
	}
}

// The order within pairs is the seed's alone, and a pair whose windows lie apart is
// made again, five of them at most.
func TestSelfTestPairs(t *testing.T) {
	s := SelfTest{Plan: metrics.Sweep{Seed: 3}, Cores: "--server-cores 0"}
	var trials []metrics.Trial
	for number := range 4 {
		run := metrics.Run{Result: metrics.Result{Verdict: metrics.Verdict{Check: verdict.Injected}}}
		trials = append(trials, metrics.TrialOf(metrics.PlannedTrial{Number: number + 1}, "", run))
	}
	first, err := s.Next(trials)
	if err != nil || len(first) != 5+10+100 || len(first[0]) != 2 || first[0][0].Of != 4+2*len(first) {
		t.Fatalf("%d groups, %v: %+v", len(first), err, first[0])
	}
	if again, _ := s.Next(trials); !reflect.DeepEqual(again, first) {
		t.Error("another order of one seed")
	}
	begun := time.Now()
	for remade := 1; remade <= mostRemade+1; remade++ {
		for i := range 2 {
			run := metrics.Run{Result: metrics.Result{Verdict: metrics.Verdict{Reason: "apart"}, WindowS: 1}, WindowStart: begun.Add(time.Duration(i) * time.Minute)}
			trials = append(trials, metrics.TrialOf(metrics.PlannedTrial{Number: len(trials) + 1}, "", run))
		}
		next, err := s.Next(trials)
		if remade > mostRemade {
			if failed := (*trialError)(nil); !errors.As(err, &failed) {
				t.Errorf("%d pairs are apart: %v", remade, err)
			}
			break
		}
		if err != nil || len(next) != len(first) || next[0][0].Number != len(trials)+1 {
			t.Fatalf("%d pairs are apart: %d groups, %v", remade, len(next), err)
		}
	}
}
