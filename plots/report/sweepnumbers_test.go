package report

import (
	"bytes"
	"slices"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
)

func TestSweepReportSaysWhatMatters(t *testing.T) {
	for _, p := range foldertest.Sweeps[6:] { // package chart draws the figures of all
		t.Run(p.ID, func(t *testing.T) {
			dir := foldertest.MakeSweep(t, t.TempDir(), p)
			s, err := folder.LoadSweep(dir)
			if err != nil {
				t.Fatal(err)
			}
			page, err := SweepReport(s)
			if err != nil {
				t.Fatal(err)
			}
			foldertest.CheckXML(t, "report.html", page)
			body := page[bytes.Index(page, []byte("<body>")):]
			verdict, headline := bytes.Index(body, []byte("verdict ")), bytes.Index(body, []byte(map[bool]string{true: "headline", false: "reason"}[AnswerOf(s).Good]))
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
	p := foldertest.SweepPlan{ID: "failures", Knobs: []metrics.Knob{foldertest.Knob("nodes", "2", "4", "8")}, Trials: 6, Law: foldertest.Law{4e6, 0.05, 0.001}, Noise: 0.03, Seed: 3, Done: 17,
		Factor: map[string]float64{"8": 0}}
	s, err := folder.LoadSweep(foldertest.MakeSweep(t, t.TempDir(), p))
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
	wants := []string{"17/18 trials", "no result", format.Plural(failed, "trial")[:1] + " of 17 trials failed, first trial ",
		format.Count(two), format.Count(four), percent(four / two / 2), "nodes=8: INVALID(misses in the window, node1)",
		"a fit needs results at 4 different places, not 2", format.Count(slices.Min(rates["2"])) + " to " + format.Count(slices.Max(rates["2"]))}
	for _, want := range wants {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the report lacks %q", want)
		}
	}
}
