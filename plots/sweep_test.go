package plots

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

// ranAt is a run of some nodes that came to opsPerS.
func ranAt(nodes int, opsPerS float64, verdict metrics.Verdict, work map[string]string) *Run {
	return &Run{Run: metrics.Run{
		ID: "r", Nodes: make([]metrics.RunNode, nodes), OpsPerS: opsPerS, Verdict: verdict, Workload: work,
	}}
}

// near wants a number up to rounding.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestSweepOfRuns(t *testing.T) {
	bad := metrics.Verdict{Reason: "misses", Node: "n1"}
	s := SweepOf([]*Run{
		ranAt(8, 30, valid, map[string]string{"seed": "1"}),
		ranAt(2, 12, valid, map[string]string{"seed": "2"}),
		ranAt(2, 8, valid, map[string]string{"seed": "3"}),
		ranAt(4, 21, valid, nil), ranAt(4, 19, valid, nil), ranAt(4, 15, valid, nil),
		ranAt(1, 99, bad, nil),
	})
	if want := []metrics.Knob{knob("nodes", "1", "2", "4", "8")}; len(s.Knobs) != 1 || !slices.Equal(s.Knobs[0].Values, want[0].Values) {
		t.Fatalf("knobs %v, want %v", s.Knobs, want)
	}
	line := linesOf(s, 0, axisOf(s.Knobs[0]))[0]
	for i, want := range []PointOnLine{
		{Place: 1},
		{Place: 2, Estimate: stats.Estimate{N: 2, Median: 10}, Ideal: 10},
		{Place: 4, Estimate: stats.Estimate{N: 3, Median: 19}, Ideal: 20, Step: 0.95},
		{Place: 8, Estimate: stats.Estimate{N: 1, Median: 30}, Ideal: 40, Step: 30.0 / 19 / 2},
	} {
		got := line.Points[i]
		if got.Place != want.Place || got.Estimate != want.Estimate {
			t.Errorf("spot %d is at %v with %+v, want %v with %+v", i, got.Place, got.Estimate, want.Place, want.Estimate)
		}
		near(t, "ideal", got.Ideal, want.Ideal)
		near(t, "step", got.Step, want.Step)
	}
	near(t, "efficiency", line.Points[3].Efficiency(), 0.75)
	if failed := s.Failed(); len(failed) != 1 || failed[0].OpsPerS != 99 {
		t.Errorf("failed %+v, want the run of one node", failed)
	}
}

// Runs that differ in one or two flags have a knob for each; in more, one knob
// that says it all.
func TestSweepOfRunsThatDiffer(t *testing.T) {
	work := func(flags ...string) *Run {
		all := map[string]string{}
		for _, flag := range flags {
			name, value, _ := strings.Cut(flag, "=")
			all[name] = value
		}
		return ranAt(2, 1, valid, all)
	}
	for _, test := range []struct {
		runs []*Run
		want []metrics.Knob
	}{
		{[]*Run{work("batch=64", "seed=1"), work("batch=64", "seed=2")}, []metrics.Knob{knob("nodes", "2")}},
		{[]*Run{work("batch=1024"), work("batch=64"), work("batch=auto")}, []metrics.Knob{knob("nodes", "2"), knob("batch", "64", "1024", "auto")}},
		{[]*Run{work("batch=1", "theta=0.5"), work("batch=1"), work("batch=2")}, []metrics.Knob{knob("nodes", "2"), knob("batch", "1", "2"), knob("theta", "0.5", "")}},
		{[]*Run{work("batch=1", "theta=0.5", "secs=5"), work("batch=2", "theta=0.9", "secs=6")},
			[]metrics.Knob{knob("nodes", "2"), knob("settings", "batch 1, secs 5, theta 0.5", "batch 2, secs 6, theta 0.9")}},
	} {
		s := SweepOf(test.runs)
		if !slices.EqualFunc(s.Knobs, test.want, func(a, b metrics.Knob) bool { return a.Name == b.Name && slices.Equal(a.Values, b.Values) }) {
			t.Errorf("knobs %v, want %v", s.Knobs, test.want)
		}
		trials := 0
		for _, point := range s.Points {
			trials += point.Trials()
		}
		if trials != len(test.runs) {
			t.Errorf("%d trials at the points of %v, want %d", trials, s.Knobs, len(test.runs))
		}
	}
}

// The links' limit of 4 servers and 4 clients with links of 10 Gb/s, 122 bytes to
// the client, by hand: 10e9/8 x 1448/1538 x 4 / 122.
func TestWireLimitOfPoint(t *testing.T) {
	s, err := LoadSweep(makeSweep(t, t.TempDir(), sweepPlan{id: "s", knobs: []metrics.Knob{knob("nodes", "8")}, trials: 3, law: curve{1e6, 0, 0}, gbps: 10, seed: 1}))
	if err != nil {
		t.Fatal(err)
	}
	point := s.Points[0]
	if got, want := wireLimit(point), 10e9/8*1448/1538*4/122; math.Abs(got/want-1) > 1e-5 {
		t.Errorf("limit %v, want %v", got, want)
	}
	point.Run.Nodes[0].Summary.InWindow.Gets *= 2 // the shares are 2, 1, 1 and 1 of 5
	if got, want := wireLimit(point), 10e9/8*1448/1538*4/122*1.25/2; math.Abs(got/want-1) > 1e-5 {
		t.Errorf("limit with a busy server %v, want %v", got, want)
	}
	point.Run.Lab = &metrics.Lab{LinkBitsPerS: 1e9} // whose shaper counts 1514 bytes of a frame
	if got, want := wireLimit(point), 1e9/8*1448/1514*4/122*1.25/2; math.Abs(got/want-1) > 1e-5 {
		t.Errorf("limit in a virtual lab %v, want %v", got, want)
	}
	point.Run.Lab = nil
	for i := range point.Valid {
		point.Valid[i].LinkBitsPerS = 0
	}
	if got := wireLimit(point); got != 0 {
		t.Errorf("limit of links of unknown rate is %v", got)
	}
}

func TestLoadSweepRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(words string) {
		t.Helper()
		_, err := LoadSweep(dir)
		var input *InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), words) {
			t.Errorf("error %v, want one about %q", err, words)
		}
	}
	wants("is not a sweep's folder: sweep.json is not in it")
	write("sweep.json", "{")
	wants("sweep.json: ")
	write("sweep.json", `{"id":"x","knobs":[{"name":"nodes","values":["2"]}],"order":[{"number":1,"point":["2"]}]}`)
	write("trials.json", `[{"number":1,"point":["3"],"verdict":{"valid":true}}]`)
	wants(`trial 1 is of point ["3"]`)
	write("trials.json", `[{"number":1,"point":["2"],"folder":"trial-001","verdict":{"valid":true}}]`)
	wants("trial-001: run.json is not there")
}

func TestSweepReportSaysWhatMatters(t *testing.T) {
	for _, p := range sweeps {
		t.Run(p.id, func(t *testing.T) {
			dir := makeSweep(t, t.TempDir(), p)
			s, err := LoadSweep(dir)
			if err != nil {
				t.Fatal(err)
			}
			page, err := SweepReport(s)
			if err != nil {
				t.Fatal(err)
			}
			checkXML(t, "report.html", page)
			body := page[bytes.Index(page, []byte("<body>")):]
			verdict, headline := bytes.Index(body, []byte("verdict ")), bytes.Index(body, []byte("headline"))
			table := bytes.Index(body, []byte("<table>"))
			if verdict < 0 || headline < verdict || table < headline {
				t.Errorf("verdict at %d, headline at %d, first table at %d: want them in this order", verdict, headline, table)
			}
			if bytes.Contains(page, []byte("<1>")) {
				t.Error("the command is not escaped")
			}
		})
	}
}

// The report's words are recomputed here from the trials.
func TestSweepReportNumbers(t *testing.T) {
	p := sweepPlan{id: "failures", knobs: []metrics.Knob{knob("nodes", "2", "4", "8")}, trials: 6, law: curve{4e6, 0.05, 0.001}, noise: 0.03, seed: 3, done: 17,
		fails: func(_ int, point []string) bool { return point[0] == "8" }}
	s, err := LoadSweep(makeSweep(t, t.TempDir(), p))
	if err != nil {
		t.Fatal(err)
	}
	page, err := SweepReport(s)
	if err != nil {
		t.Fatal(err)
	}
	rates := map[string][]float64{}
	failed := 0
	for _, trial := range s.Trials {
		if trial.Verdict.Valid {
			rates[trial.Point[0]] = append(rates[trial.Point[0]], trial.OpsPerS)
		} else {
			failed++
		}
	}
	two, four := stats.Median(rates["2"]), stats.Median(rates["4"])
	wants := []string{"17/18 trials", "no result", "INVALID(" + format.Plural(failed, "trial")[:1] + " of 17 trials failed)",
		format.Count(two), format.Count(four), percent(four / two / 2), "at nodes=4", "nodes=8: misses in the window (node1)",
		"a fit needs results at 4 different places, not 2", format.Count(slices.Min(rates["2"])) + " to " + format.Count(slices.Max(rates["2"]))}
	for _, want := range wants {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the report lacks %q", want)
		}
	}
}

func TestDrawOfASweep(t *testing.T) {
	dir := makeSweep(t, t.TempDir(), sweeps[0])
	files, err := Draw(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(file))
	}
	if want := []string{"throughput_scaling.png", "throughput_scaling.svg", "report.html"}; !slices.Equal(names, want) {
		t.Errorf("Draw wrote %v, want %v", names, want)
	}
	checkPNG(t, filepath.Join(dir, "throughput_scaling.png"))
}
