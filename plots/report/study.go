package report

import (
	"fmt"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/chart"
	"kvlab/plots/folder"
)

// studyReport returns a study as one HTML page: its claims, a figure for each, and the points.
func studyReport(s *folder.Sweep) ([]byte, error) {
	p := page{Kind: "study", ID: s.ID, Trials: s, Answer: AnswerOf(s)}
	p.Sections = append([]section{
		{ID: "claims", Title: "Claims", Trials: s},
		{ID: "figures", Title: "A figure for each claim", Figures: chart.ScalingFigures(s)},
		{ID: "throughput", Title: "Points", Trials: s},
		{ID: "trials", Title: "Trials", Trials: s},
	}, setupSections(nil, s, "", rawFile{metrics.SweepFile, s.Sweep}, rawFile{metrics.ClaimsFile, s.Claims}, rawFile{metrics.TrialsFile, s.Trials})...)
	return p.render()
}

// pairsText returns the comparisons that a claim consists of, each with its interval.
func pairsText(r metrics.ClaimResult) string {
	var parts []string
	for _, pair := range r.Pairs {
		text := fmt.Sprintf("%s [%s, %s]", format.Count(pair.Value), format.Count(pair.Low), format.Count(pair.High))
		if len(r.Pairs) > 1 {
			text = pair.B + " " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
