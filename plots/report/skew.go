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

// skewSection says how unevenly operations fall on records and servers.
func skewSection(skew *metrics.Skew) section {
	if skew == nil {
		return section{}
	}
	s := section{ID: "skew", Title: "Skew", Notes: []string{fmt.Sprintf("Of all reads in the window, %.4g %% found their record.", 100*skew.HitRate)}}
	if skew.TopShare > 0 {
		s.Lead = []string{fmt.Sprintf("%s, %s records: the most popular record has %.3g %% of all operations, so at most %s can be equally busy.",
			skew.Law, grouped(skew.Records), 100*skew.TopShare, format.Plural(stats.MostEven(skew.TopShare), "server"))}
	}
	head := shareTable(fmt.Sprintf("The most popular records, in a sample of %s operations", grouped(skew.SampledOps)), "rank")
	for _, h := range skew.Head {
		head.addShare(fmt.Sprint(h.Rank), h.Share)
	}
	servers := shareTable("Shares of the servers, -router "+skew.Router, "server")
	for _, server := range skew.Servers {
		servers.addShare(server.Server, server.Share)
	}
	kinds := shareTable("Kinds of operations", "kind")
	for _, kind := range skew.Kinds {
		kinds.addShare(kind.Kind, kind.Share)
	}
	balances := table{Caption: "Balance with other numbers of servers", Columns: []string{"servers", "best possible", "-router fnv", "-router balanced"}}
	for _, b := range skew.Balances {
		balances.add(fmt.Sprint(b.Servers), fmt.Sprintf("%.3f", b.Best), fmt.Sprintf("%.3f", b.FNV), fmt.Sprintf("%.3f", b.Balanced))
	}
	s.Tables = []table{head, servers, kinds, balances}
	return s
}

// shareTable returns an empty table of shares.
func shareTable(caption, what string) table {
	return table{Caption: caption, Columns: []string{what, "theory", "observed at the servers"}, Names: []int{0}}
}

// addShare appends a row of one share.
func (t *table) addShare(name string, share metrics.Share) {
	t.add(name, fmt.Sprintf("%.2f %%", 100*share.Theory), fmt.Sprintf("%.2f %%", 100*share.Observed))
}
