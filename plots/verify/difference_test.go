package verify

import (
	"slices"
	"testing"

	"kvlab/metrics"
)

// TestFigures compares a run whose sentences have other words, with and without their words.
func TestFigures(t *testing.T) {
	of := func(evidence, why string) metrics.Run {
		return metrics.Run{Checks: []metrics.CheckResult{{ID: "drift", Evidence: evidence}}, Bottleneck: &metrics.Bottleneck{Why: why}}
	}
	recorded := jsonOf(of("no stranger wrote, 12.5 % of 3 reads", ""))
	delete(recorded.(map[string]any)["bottleneck"].(map[string]any), "why") // as of a commit before the field
	for _, test := range []struct {
		again   metrics.Run
		figures bool
		want    []string
	}{
		{of("no third-party client wrote, 12.5 % of 3 reads", "90 % on node0"), true, nil},
		{of("no stranger wrote, 12.6 % of 3 reads", ""), true, []string{`r: checks[0].evidence: recorded is "no stranger wrote, 12.5 % of 3 reads", the records give "no stranger wrote, 12.6 % of 3 reads"`}},
		{of("", "90 % on node0"), true, []string{`r: checks[0].evidence: recorded is "no stranger wrote, 12.5 % of 3 reads", the records give ""`}},
		{of("nobody wrote, 12.5 % of 3 reads", ""), false, []string{`r: bottleneck.why: recorded is nothing, the records give ""`, `r: checks[0].evidence: recorded is "no stranger wrote, 12.5 % of 3 reads", the records give "nobody wrote, 12.5 % of 3 reads"`}},
	} {
		d := difference{prefix: "r", figures: test.figures}
		d.compare("", recorded, jsonOf(test.again))
		if !slices.Equal(d.lines, test.want) {
			t.Errorf("%q, want %q", d.lines, test.want)
		}
	}
}
