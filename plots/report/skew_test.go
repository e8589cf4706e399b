package report

import (
	"strings"
	"testing"

	"kvlab/metrics"
)

// skewLines returns the lines of a summary about the skew.
func skewLines(s *metrics.Skew) string {
	_, lines, _ := strings.Cut(RunSummary(metrics.Run{Skew: s}), "no result\n")
	return lines
}

// What the servers saw takes three lines of the terminal, fewer where there is
// less to say.
func TestSkewLines(t *testing.T) {
	s := &metrics.Skew{TopShare: 0.5, SampledOps: 12_000, HitRate: 0.9999,
		Head:    []metrics.HeadShare{{Rank: 1, Share: metrics.Share{Theory: 0.5, Observed: 0.49}}, {Rank: 2, Share: metrics.Share{Theory: 0.1, Observed: 0.12}}},
		Kinds:   []metrics.KindShare{{Kind: "gets", Share: metrics.Share{Theory: 1, Observed: 1}}, {Kind: "puts"}},
		Servers: []metrics.ServerShare{{Server: "a", Share: metrics.Share{Theory: 0.7, Observed: 0.71}}, {Server: "b", Share: metrics.Share{Theory: 0.2, Observed: 0.19}}, {Server: "c", Share: metrics.Share{Theory: 0.1, Observed: 0.1}}}}
	want := `the servers saw (in theory): 100.00 % (100.00 %) gets; 99.99 % of the reads hit
  the most popular record 49.00 % (50.00 %), the first 2 61.00 % (60.00 %), of 12k operations sampled
  the busiest server, a, 71.00 % (70.00 %); balance 0.469 (0.476), and 0.667 at best with 3 servers
`
	if got := skewLines(s); got != want {
		t.Errorf("the lines are\n%s\nwant\n%s", got, want)
	}
	s.Head, s.Servers = nil, s.Servers[:1]
	if got := skewLines(s); strings.Count(got, "\n") != 1 {
		t.Errorf("of one server without a head: %q", got)
	}
	if skewLines(nil) != "" {
		t.Error("a run without a skew has lines")
	}
}
