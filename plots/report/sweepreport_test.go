package report

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/metrics/stats"
	"kvlab/plots/compare"
	"kvlab/plots/folder"
)

// A set of trials shows the valid trial nearest to the median in full, and says
// which that is.
func TestSweepReportShowsTheMedianTrial(t *testing.T) {
	s, err := folder.LoadSweep(makeTrials(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	rates := s.Points[0].Rates()
	median := stats.Median(rates)
	off := func(rate float64) float64 { return math.Abs(rate - median) }
	want := slices.IndexFunc(s.Trials, func(trial metrics.Trial) bool {
		return !slices.ContainsFunc(rates, func(rate float64) bool { return off(rate) < off(trial.OpsPerS) })
	})
	r, trial, err := shownTrial(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(rates) != 6 || trial.Number != s.Trials[want].Number || r.OpsPerS != trial.OpsPerS || len(r.Logs) != 4 {
		t.Errorf("trial %d is shown, with %d logs, want trial %d of %v", trial.Number, len(r.Logs), want+1, rates)
	}
	page, err := SweepReport(s)
	if err != nil {
		t.Fatal(err)
	}
	wantNoScripts(t, page)
	text := html.UnescapeString(string(page))
	for _, want := range []string{fmt.Sprintf("Of trial %d, the one nearest to the median.", trial.Number), grouped(r.Ops) + " verified operations in 5.000 s",
		`id="trials.json"`, `id="sweep.json"`, `id="run.json"`, "./run-cluster.sh --sweep 'x=<1>'"} {
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
		if !strings.Contains(html.UnescapeString(string(page)), "<p>"+string(sentence(answer))+".</p>") {
			t.Errorf("the report has no %q", answer)
		}
	}
}
