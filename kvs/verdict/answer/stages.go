package answer

import (
	"cmp"
	"fmt"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// StageNote says what StageTable's columns are.
const StageNote = "latencies in ms, since an operation was due; late: the generator's p99; behind: due and not done; drain, calm: s after a burst"

// StageTable has a row for each stage of a rate, with the columns of StageNote.
func StageTable(stages []metrics.Stage) (columns []string, rows [][]string) {
	columns = []string{"stage", "due/s", "done/s", "p50", "p99", "p99.9", "late", "behind", "drain", "calm"}
	ms := func(us *float64) string {
		if us == nil {
			return "n/a"
		}
		return format.Milliseconds(*us)
	}
	after := func(s *float64) string {
		switch {
		case s == nil:
			return "-"
		case *s < 0:
			return "never"
		}
		return fmt.Sprintf("%.3g", *s)
	}
	for _, s := range stages {
		q, late := cmp.Or(s.Latency, new(metrics.Quantiles)), cmp.Or(s.Late, new(metrics.Quantiles))
		rows = append(rows, []string{s.Level, format.Count(float64(s.Due) / s.LengthS), format.Count(float64(s.Answered) / s.LengthS),
			ms(q.P50), ms(q.P99), ms(q.P999), ms(late.P99), format.Count(float64(s.Behind)), after(s.DrainedS), after(s.CalmS)})
	}
	return columns, rows
}
