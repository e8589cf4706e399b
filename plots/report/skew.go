package report

import (
	"fmt"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

// skewLines are the shares that the servers observed, with theory's in brackets, in
// at most three lines.
func skewLines(s *metrics.Skew) []string {
	if s == nil {
		return nil
	}
	var kinds []string
	for _, k := range s.Kinds {
		if k.Theory > 0 || k.Observed > 0 {
			kinds = append(kinds, fmt.Sprintf("%s %s", bracketed(k.Share), k.Kind))
		}
	}
	lines := []string{fmt.Sprintf("the servers saw (in theory): %s; %.4g %% of the reads hit", strings.Join(kinds, ", "), 100*s.HitRate)}
	if len(s.Head) > 0 {
		lines = append(lines, fmt.Sprintf("  the most popular record %s, the first %d %s, of %s operations sampled",
			bracketed(s.Head[0].Share), len(s.Head), bracketed(s.HeadTotal()), format.Count(float64(s.SampledOps))))
	}
	if n := len(s.Servers); n > 1 {
		most, balance := s.Busiest(), s.Balance()
		lines = append(lines, fmt.Sprintf("  the busiest server, %s, %s; balance %.3f (%.3f), and %.3f at best with %d servers",
			format.Label(most.Server, 32), bracketed(most.Share), balance.Observed, balance.Theory, stats.BestBalance(n, s.TopShare), n))
	}
	return lines
}

// bracketed writes a share as it was observed and, in brackets, in theory.
func bracketed(s metrics.Share) string {
	return fmt.Sprintf("%.2f %% (%.2f %%)", 100*s.Observed, 100*s.Theory)
}
