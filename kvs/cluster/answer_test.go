package cluster

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"kvlab/kvs/cluster/trial"
	"kvlab/kvs/experiment"
	"kvlab/kvs/verdict"
	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/compare"
)

var update = flag.Bool("update", false, "write the golden texts anew")

// soundRun returns a VALID run of two servers and two clients on four machines.
func soundRun() metrics.Run {
	p50, p99, p999 := 9123.0, 14096.0, 21055.0
	node := func(name string, role metrics.Role) metrics.RunNode {
		return metrics.RunNode{Name: name, Role: role, Config: &metrics.Config{Host: metrics.Host{Hostname: name}}, Summary: &metrics.Summary{}}
	}
	run := metrics.Run{
		ID: "20261122-090330", Result: metrics.Result{WindowS: 30.004, Ops: 425_600_000, OpsPerS: 14_184_775, Verdict: metrics.Verdict{Valid: true}},
		Nodes:      []metrics.RunNode{node("node0", metrics.Server), node("node1", metrics.Server), node("node2", metrics.Client), node("node3", metrics.Client)},
		Latency:    map[string]metrics.Quantiles{metrics.CallLatency: {P50: &p50, P99: &p99, P999: &p999}},
		Ceiling:    metrics.Ceiling{NullOpsPerS: 35.5e6}.Over(14_184_775, false),
		Bottleneck: &metrics.Bottleneck{Kind: metrics.LimitServerCPU, Why: "97 % on node0", Sentence: "limited by server CPU: 97 % on node0; client CPU 61 % on node2; link 44 % on node0"},
		Audit:      &metrics.Audit{Keys: 1180, Written: 911},
		WarmUp:     &stats.Stationarity{Seconds: 5, Stationary: true},
	}
	for i := range run.Nodes[:2] {
		run.Nodes[i].MedianOpsPerS = new(7_050_000.0)
	}
	for i := range run.Nodes[2:] {
		s := run.Nodes[2+i].Summary
		s.InWindow, s.BytesInWindow, s.CacheBytes = metrics.Counts{Gets: 212_800_000}, metrics.Bytes{Sent: 212_800_000 * 12, Received: 212_800_000 * 98}, 160_000_000
		s.Verification = metrics.Verification{Checked: 202_160_000, Compared: 12_635_000}
		s.Peers = []metrics.PeerCounts{{Peer: "node0", Load: metrics.Counts{Puts: 250_000}}, {Peer: "node1", Load: metrics.Counts{Puts: 250_000}}}
	}
	return run
}

// answers returns results of each kind, by the names of their golden texts.
func answers() map[string]func(w *strings.Builder, dir trial.Folder) error {
	one := func(change func(*metrics.Run)) func(*strings.Builder, trial.Folder) error {
		return func(w *strings.Builder, dir trial.Folder) error {
			run := soundRun()
			change(&run)
			return (&Launcher{Stdout: w}).conclude(Config{}, dir, run, nil)
		}
	}
	trials := func(plan metrics.Sweep, rates ...float64) func(*strings.Builder, trial.Folder) error {
		return func(w *strings.Builder, dir trial.Folder) error {
			done := madeTrials(&plan, rates)
			return (&Launcher{Stdout: w}).finish(experiment.Sweep{Plan: plan}.Conclude(done, nil).Brief, answer.OfTrials(plan, done), dir, metrics.Verdict{Valid: true}, nil)
		}
	}
	return map[string]func(*strings.Builder, trial.Folder) error{
		"valid": one(func(*metrics.Run) {}),
		"caveats": one(func(run *metrics.Run) {
			run.Ceiling = metrics.Ceiling{NullOpsPerS: 18.7e6}.Over(run.OpsPerS, false)
			run.WarmUp = &stats.Stationarity{Seconds: 5, DriftShare: -0.034, TrendP: 0.003, Extended: true}
			run.Preflight = &metrics.Preflight{Findings: []metrics.Finding{
				{Node: "node0", Fact: "governor", Grade: metrics.Warn, Text: "the cores' frequency governor is powersave", Type: "ssh node0 sudo cpupower frequency-set -g performance"},
				{Node: "node1", Fact: "governor", Grade: metrics.Warn, Text: "the cores' frequency governor is powersave", Type: "ssh node1 sudo cpupower frequency-set -g performance"},
			}}
			for i := range run.Nodes {
				run.Nodes[i].Config.Host.Hostname = "laptop"
			}
		}),
		"cache": one(func(run *metrics.Run) { run.Workload = metrics.Settings{"cache": "all"} }),
		"invalid": one(func(run *metrics.Run) {
			run.Verdict = metrics.Verdict{Reason: "the client verified 951 gets of server node1, which applied 950 for it: the client counted some before they were done (when sent, or dropped on the way)", Node: "node2"}
		}),
		"words": one(func(run *metrics.Run) {
			run.Verdict = metrics.Verdict{Reason: strings.Repeat("a reason of many words that fills more than the lines that a terminal has for it ", 5), Node: "clnode271.clemson.cloudlab.us"}
			run.Nodes[0].Name = run.Verdict.Node
		}),
		"ceiling": one(func(run *metrics.Run) {
			run.Verdict = metrics.Verdict{Check: verdict.Ceiling, Reason: "engine null answers without a store: this is a ceiling, not a result"}
		}),
		"soak": one(func(run *metrics.Run) {
			run.WindowS, run.Ops = 1800.2, 25_540_000_000
			for i := range run.Nodes {
				run.Nodes[i].Soak = &metrics.Soak{LengthS: 1620}
			}
		}),
		"saturated": one(func(run *metrics.Run) {
			run.Offered = &metrics.Offered{Arrivals: "poisson", OpsPerS: 15.2e6, Ops: 456_000_000}
			run.Latency[metrics.OpLatency] = metrics.Quantiles{Refused: run.Offered.Saturated(run.Ops)}
		}),
		"ab": func(w *strings.Builder, dir trial.Folder) error {
			plan := metrics.Sweep{Knobs: []metrics.Knob{{Name: metrics.VariantKnob, Values: metrics.VariantNames}}, Variants: []metrics.Variant{{}, {Args: "--engine slab"}}}
			done := madeTrials(&plan, []float64{6.9e6, 7.6e6, 6.8e6, 7.5e6, 7.0e6, 7.7e6})
			a := answer.OfTrials(plan, done)
			a.Headline, a.Basis = compare.Comparison{Results: []compare.Result{{Comparison: stats.Compare([]float64{1, 1}, []float64{1.102, 1.102}, stats.Paired), Paired: true, A: 2, B: 2}}}.Headline()
			return (&Launcher{Stdout: w}).finish(experiment.Sweep{Plan: plan}.Conclude(done, nil).Brief, a, dir, metrics.Verdict{Valid: true}, nil)
		},
		"failed": func(w *strings.Builder, dir trial.Folder) error {
			plan := metrics.Sweep{Knobs: []metrics.Knob{{Name: "batch", Values: []string{"1024", "8192"}}}}
			done := madeTrials(&plan, []float64{5.4e6, 7.0e6})
			done[1].Verdict = metrics.Verdict{Reason: "TOO SHORT: a round takes 0.226 s", Node: "node1"}
			return (&Launcher{Stdout: w}).finish(experiment.Sweep{Plan: plan}.Conclude(done, nil).Brief, answer.OfTrials(plan, done), dir, metrics.Verdict{Reason: "1 of 2 trials failed"}, nil)
		},
		"trials":  trials(metrics.Sweep{}, 7.01e6, 7.04e6, 6.98e6, 7.1e6, 7.05e6, 7.0e6),
		"sweep":   trials(metrics.Sweep{Knobs: []metrics.Knob{{Name: "batch", Values: []string{"64", "1024", "8192"}}}}, 1.1e6, 5.4e6, 7.0e6),
		"scaling": trials(metrics.Sweep{Knobs: []metrics.Knob{{Name: "nodes", Values: []string{"2", "4", "8"}}}}, 7.0e6, 13.1e6, 24.9e6),
	}
}

// madeTrials plans a trial for each rate, one point after the other, and makes them.
func madeTrials(plan *metrics.Sweep, rates []float64) (done []metrics.Trial) {
	points := metrics.Points(plan.Knobs)
	for i, rate := range rates {
		run := soundRun()
		run.OpsPerS = rate
		planned := metrics.PlannedTrial{Number: i + 1, Point: points[i%len(points)]}
		plan.Order = append(plan.Order, planned)
		done = append(done, metrics.TrialOf(planned, "trial-001", run))
	}
	return done
}

// What the terminal says of each kind of result stands in testdata, line by line. No
// line but the verdict is longer than 80 characters, and none has an escape sequence.
func TestAnswers(t *testing.T) {
	for name, print := range answers() {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			print(&out, "logs/20261122-090330")
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			for i, line := range lines {
				if utf8.RuneCountInString(line) > format.Columns && i+1 < len(lines) || strings.Contains(line, "\x1b") {
					t.Errorf("line %d: %q", i, line)
				}
			}
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, "verdict ") {
				t.Errorf("the last line is %q", last)
			}
			file := filepath.Join("testdata", "answer-"+name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil || out.String() != string(want) {
				t.Errorf("%v; output:\n%s\nwant\n%s", err, out.String(), want)
			}
		})
	}
}

// The progress of many trials is one line that never falls back, on a terminal as wide
// as it, and elsewhere a plain line now and then.
func TestProgress(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out)
	p.begin(1, 4, "", 10*time.Second)
	p99 := 12300.0
	status := trial.Status{Phase: "window 3/5 s", Left: 2 * time.Second, OpsPerS: 7.04e6, P99: &p99}
	if got, want := p.text(status, p.trial.Add(5*time.Second)), " 12 %  35s to go  7.04M ops/s  p99 12.3 ms  trial 1/4, window 3/5 s"; got != want {
		t.Errorf("progress %q, want %q", got, want)
	}
	p.end(1)
	if got := p.text(status, p.trial); !strings.HasPrefix(got, " 12 %") {
		t.Errorf("the share falls: %q", got)
	}
	p.show(status)
	if out.Len() > 0 {
		t.Errorf("a plain line comes at once: %q", out.String())
	}
	p.shown = p.shown.Add(-plainEvery)
	p.show(status)
	p.show(status)
	if strings.Count(out.String(), "\n") != 1 || strings.ContainsAny(out.String(), "\r\x1b") {
		t.Errorf("plain progress %q", out.String())
	}
	p.label = "round 2, team-7"
	if got, want := p.text(status, p.trial.Add(5*time.Second)), " 12 %  35s to go  round 2, team-7  7.04M ops/s  p99 12.3 ms  window 3/5 s"; got != want {
		t.Errorf("progress of a class %q, want %q", got, want)
	}
	out.Reset()
	p.width = 40
	p.show(status)
	p.Write([]byte("failed\n"))
	p.end(1) // there is nothing to remove
	lines := strings.Split(out.String(), "\r\x1b[K")
	if p.show(status); !p.drawn {
		t.Error("no progress")
	}
	if p.end(1); p.drawn {
		t.Error("the progress of an ended trial stays")
	}
	if len(lines) != 3 || utf8.RuneCountInString(lines[1]) != 39 || lines[2] != "failed\n" {
		t.Errorf("on a terminal: %q", lines)
	}
}

// A number is not parted from its %.
func TestWrap(t *testing.T) {
	text := strings.Repeat("x", 70) + " of 27 %, 9 % more"
	if got, want := format.Wrap(text, 0, 2), strings.Repeat("x", 70)+" of 27 %,\n  9 % more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	text = "xx" + text
	if got, want := format.Wrap(text, 0, 2), "xx"+strings.Repeat("x", 70)+" of\n  27 %, 9 % more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A soak's report has a line for each process, and a run that is none has no line.
func TestSoakText(t *testing.T) {
	held := new(metrics.Soak)
	run := metrics.Run{Nodes: []metrics.RunNode{{Name: "s0", Role: metrics.Server, Soak: held}, {Name: "c0", Role: metrics.Client}}}
	if got, want := soakText(run), "soak server s0: "+held.String()+"\n\n"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if got := soakText(metrics.Run{Nodes: []metrics.RunNode{{}}}); got != "" {
		t.Errorf("a run that is no soak says %q", got)
	}
}
