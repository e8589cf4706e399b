package report

import (
	"fmt"
	"strings"
	"text/template"

	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/latency"
	tables "kvlab/plots/table"
)

// RunSummary returns a run as text for a terminal: what each node and each group
// used in the window, the latencies, and the total. Every line ends with a line
// feed.
func RunSummary(run metrics.Run) string {
	var out strings.Builder
	layout := template.Must(template.New("summary.txt").Funcs(words).ParseFS(layoutFiles, "summary.txt"))
	if err := layout.Execute(&out, run); err != nil {
		panic(err) // a fault of the template
	}
	return out.String()
}

// nodeTable has a row for each process, then those of the table by role that say more.
func nodeTable(run metrics.Run) table {
	t := table{Caption: "In the window, average and peak second; memory in 10^6 bytes", Names: []int{0, 1}, Columns: append([]string{"node", "role", "ops/s"}, tables.UsedColumns...)}
	for _, node := range run.Nodes {
		rate := absent
		if node.Summary != nil && node.Summary.InWindow.Ops() > 0 {
			rate = format.Count(node.Summary.OpsPerS())
		}
		t.add(append([]string{node.Name, string(node.Role), rate}, tables.UsedCells(node.Used)...)...)
	}
	_, rows := tables.UsedByRole(run)
	for _, row := range rows {
		if !strings.HasPrefix(row[0], "1 ") {
			t.add(append([]string{row[0], absent, absent}, row[1:]...)...)
			t.Groups++
		}
	}
	return t
}

// latencyTable has the run's latencies in milliseconds. A percentile that the sample
// cannot support is n/a.
func latencyTable(run metrics.Run) table {
	t := table{Caption: "In the window", Names: []int{0}, Columns: []string{"latency ms", "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max", "samples"}}
	for _, name := range latency.Names {
		q, ok := run.Latency[name]
		if !ok || q.Count+q.OutOfRange == 0 {
			continue
		}
		texts := []string{name, milliseconds(&q.Mean)}
		for _, us := range q.All() {
			texts = append(texts, milliseconds(us))
		}
		texts = append(texts, milliseconds(&q.Max))
		samples := format.Count(float64(q.Count))
		if q.OutOfRange > 0 {
			samples += fmt.Sprintf(" + %d out of range", q.OutOfRange)
		}
		t.add(append(texts, samples)...)
	}
	return t
}

// stageTable has the stages of a run's rate.
func stageTable(run metrics.Run) table {
	columns, rows := answer.StageTable(run.Stages)
	return table{Caption: "By stage of -rate: " + answer.StageNote, Names: []int{0}, Columns: columns, Rows: rows}
}

// milliseconds writes a latency; n/a without one.
func milliseconds(us *float64) string {
	if us == nil {
		return "n/a"
	}
	return format.Milliseconds(*us)
}

// latencyNotes say why the table of latencies has no percentiles, or give the
// intervals of the main ones.
func latencyNotes(run metrics.Run) []string {
	var notes []string
	for _, name := range append([]string{metrics.CallLatency, metrics.OpLatency}, metrics.KindNames[:]...) {
		q := run.Latency[name]
		if q.Refused != "" {
			return []string{"n/a: " + q.Refused}
		}
		if q.CI95 == nil {
			continue
		}
		var parts []string
		for _, i := range []int{0, 3, 4} {
			if ci, ok := q.CI95[metrics.QuantileKeys[i]]; ok {
				parts = append(parts, fmt.Sprintf("%s %s to %s", metrics.QuantileNames[i], format.Milliseconds(ci[0]), format.Milliseconds(ci[1])))
			}
		}
		notes = append(notes, fmt.Sprintf("%s, 95 %% intervals in ms: %s", name, strings.Join(parts, ", ")))
	}
	return append(notes, format.NonEmpty(answer.MixedKinds(run))...)
}
