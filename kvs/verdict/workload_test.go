package verdict

import (
	"strings"
	"testing"

	"kvlab/metrics"
)

func TestJudgeWorkload(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(s []*metrics.Summary, e *expectation) // s0 s1 c0 c1
		want  string
	}{
		{"good", func([]*metrics.Summary, *expectation) {}, "VALID"},
		{"two clients, one stream", func(s []*metrics.Summary, e *expectation) { s[3].Workers[0].Opening = s[2].Workers[0].Opening }, "worker 0 of c1 drew the same operations as worker 0 of c0"},
		{"a short stream in common", func(s []*metrics.Summary, e *expectation) {
			s[2].Workers[0].OpeningOps = 10
			s[3].Workers[0] = metrics.WorkerAccount{Loaded: 2, Drawn: s[3].Workers[0].Drawn, Verified: s[3].Workers[0].Verified,
				OpeningOps: 10, Opening: s[2].Workers[0].Opening, Redrawn: s[2].Workers[0].Opening}
		}, "VALID"},
		{"an operation dropped", func(s []*metrics.Summary, e *expectation) { s[3].Workers[0].Drawn++ }, "INVALID(worker 0 drew 203 operations and 202 of them were done"},
		{"one done twice", func(s []*metrics.Summary, e *expectation) { s[2].Workers[0].Drawn-- }, "INVALID(worker 0 drew 201 operations and 202 were done"},
		{"another seed", func(s []*metrics.Summary, e *expectation) { s[3].Workers[0].Redrawn = "x" }, "not those of its seed"},
		{"a record not loaded", func(s []*metrics.Summary, e *expectation) { e.Records = 3 }, "2 of 3 records were loaded"},
		{"a key astray", func(s []*metrics.Summary, e *expectation) { s[1].Seen.Records = 2 }, "2 keys are stored where 1 were loaded"},
		{"a key gone", func(s []*metrics.Summary, e *expectation) { s[0].Seen.Records = 0 }, "0 keys are left of 1"},
		{"no puts expected", func(s []*metrics.Summary, e *expectation) { e.kinds = kindLaw{0.98, 0, 0.02} }, "4.455 % puts where -theta 1 has 0.000 %"},
		{"another router", func(s []*metrics.Summary, e *expectation) { e.cells = [][]float64{{0.45, 0.45}, {0.05, 0.05}} }, "random routing"},
		{"another theta", func(s []*metrics.Summary, e *expectation) { e.cells = [][]float64{{0.1, 0.4}, {0.1, 0.4}} }, "wrong theta?"},
		{"constant values", func(s []*metrics.Summary, e *expectation) {
			s[1].Seen.Values = metrics.Values{Count: 40, Bytes: 4000, Compressed: 900}
		}, "constant or compressible"},
		{"misses", func(s []*metrics.Summary, e *expectation) { s[2].InWindow.Misses = 1 }, "data was lost, or expired"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run := goodRun()
			var summaries []*metrics.Summary
			for _, n := range run.Nodes {
				summaries = append(summaries, n.Summary)
			}
			test.spoil(summaries, run.expected)
			if got := run.verdict().String(); !strings.Contains(got, test.want) || (test.want == "VALID") != (got == "VALID") {
				t.Errorf("verdict %s, want %s", got, test.want)
			}
		})
	}
}
