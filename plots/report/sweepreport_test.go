package report

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"

	"kvlab/metrics"
	"kvlab/metrics/stats"
	"kvlab/plots/compare"
	"kvlab/plots/folder"
	"kvlab/plots/folder/foldertest"
)

// ratedSweep is a sweep without knobs whose trials have these rates.
func ratedSweep(rates ...float64) *folder.Sweep {
	s := &folder.Sweep{}
	for i, rate := range rates {
		planned := metrics.PlannedTrial{Number: i + 1}
		s.Order = append(s.Order, planned)
		s.Trials = append(s.Trials, metrics.Trial{PlannedTrial: planned, Folder: fmt.Sprintf("trial-%03d", i+1), OpsPerS: rate, Verdict: foldertest.Valid})
	}
	for _, point := range metrics.Summarize(s.Sweep, s.Trials) {
		s.Points = append(s.Points, folder.Point{Point: point})
	}
	return s
}

// Six rates that fall from trial to trial have a trend by the normal approximation,
// p 0.0085; with one pair in the other order they have none below 0.01.
func TestSweepWarnsOfATrend(t *testing.T) {
	if got := sweepWarnings(ratedSweep(6, 5, 4, 3, 2, 1)); len(got) != 1 || !strings.Contains(got[0], "trend in the order of the trials (Mann-Kendall p 0.0085)") {
		t.Errorf("warnings %q, want one of a trend", got)
	}
	if got := sweepWarnings(ratedSweep(6, 5, 4, 3, 1, 2)); len(got) != 0 {
		t.Errorf("warnings %q of rates that are not in order, want none", got)
	}
	stamped := ratedSweep(1, 3, 2)
	stamped.Trials[0].NonStationary, stamped.Trials[2].NonStationary, stamped.Trials[2].ClientBound = true, true, true
	if got, want := sweepWarnings(stamped), []string{"CLIENT-BOUND: 1 of 3 valid trials.", "NON-STATIONARY: 2 of 3 valid trials."}; !slices.Equal(got, want) {
		t.Errorf("warnings %q, want %q", got, want)
	}
}

// A set of trials shows the valid trial nearest to the median in full, and says
// which that is.
func TestSweepReportShowsTheMedianTrial(t *testing.T) {
	s, err := folder.LoadSweep(makeTrials(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	rates := s.Points[0].Rates()
	want := slices.IndexFunc(s.Trials, func(trial metrics.Trial) bool { return trial.OpsPerS == stats.Median(rates) })
	r, trial, err := shownTrial(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(rates) != 5 || trial.Number != s.Trials[want].Number || r.OpsPerS != trial.OpsPerS || len(r.Logs) != 4 {
		t.Errorf("trial %d is shown, with %d logs, want trial %d of %v", trial.Number, len(r.Logs), want+1, rates)
	}
	page, err := SweepReport(s)
	if err != nil {
		t.Fatal(err)
	}
	wantNoScripts(t, page)
	text := html.UnescapeString(string(page))
	for _, want := range []string{fmt.Sprintf("Of trial %d, the one nearest to the median.", trial.Number), grouped(r.Ops) + " verified operations in 5.000 s",
		`id="trials.json"`, `id="sweep.json"`, `id="run.json"`, "./run-cluster.sh --sweep 'x=<1>'", "trial 4: INVALID(misses in the window, node1)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}

func TestMedianOfLatencies(t *testing.T) {
	us := func(v float64) metrics.Trial { return metrics.Trial{P99: &v} }
	p99 := func(t metrics.Trial) *float64 { return t.P99 }
	six := []metrics.Trial{us(6000), us(1000), us(2000), us(5000), us(3000), us(4000)}
	for want, trials := range map[string][]metrics.Trial{
		"-": nil, "2": six[1:4], "3.5 [1, 6]": six, "n/a": append([]metrics.Trial{{}}, six...),
	} {
		if got := medianOf(trials, p99); got != want {
			t.Errorf("median of %d trials is %q, want %q", len(trials), got, want)
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

// The report of a folder of --ab has the comparison, its answer first.
func TestSweepReportCompares(t *testing.T) {
	for _, dir := range []string{foldertest.MakeSweep(t, t.TempDir(), foldertest.Sides(8, 1.1)), foldertest.MakeSweep(t, t.TempDir(), foldertest.Together(5, 1.05))} {
		c, err := compare.Variants(dir)
		if err != nil {
			t.Fatal(err)
		}
		s, err := folder.LoadSweep(dir)
		if err != nil {
			t.Fatal(err)
		}
		page, err := SweepReport(s)
		if err != nil {
			t.Fatal(err)
		}
		foldertest.CheckXML(t, "report.html", page)
		answer := c.String()[strings.LastIndex(c.String(), "\n")+1:]
		if !strings.Contains(html.UnescapeString(string(page)), "<p>"+sentence(answer)+".</p>") {
			t.Errorf("the report has no %q", answer)
		}
	}
}
