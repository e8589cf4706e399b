package report

import (
	"fmt"
	"strings"
	"text/template"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/latency"
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

// nodeTable has a row for each server and client, then one for each group.
func nodeTable(run metrics.Run) table {
	t := table{Caption: "In the window, average and peak", Names: []int{0, 1}, Columns: []string{"node", "role", "ops/s", "CPU %", "peak", "memory GiB", "peak", "rx Gb/s", "peak", "tx Gb/s", "peak"}}
	for _, node := range run.Nodes {
		rate, used := absent, metrics.Table{}
		if node.Summary != nil {
			used = node.Summary.Usage
			if node.Summary.InWindow.Ops() > 0 {
				rate = format.Count(node.Summary.OpsPerS())
			}
		}
		t.add(append([]string{node.Name, string(node.Role), rate}, usageTexts(used)...)...)
	}
	for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
		if used, ok := run.Usage[role]; ok && run.Count(role) > 1 {
			t.add(append([]string{fmt.Sprintf("%d %ss", run.Count(role), role), string(role), absent}, usageTexts(used)...)...)
			t.Groups++
		}
	}
	return t
}

// usageTexts writes the average and the peak of each usage.
func usageTexts(used metrics.Table) []string {
	var texts []string
	add := func(v metrics.AvgPeak, unit float64, digits int) {
		if used == (metrics.Table{}) {
			texts = append(texts, absent, absent)
			return
		}
		texts = append(texts, fmt.Sprintf("%.*f", digits, v.Avg/unit), fmt.Sprintf("%.*f", digits, v.Peak/unit))
	}
	add(used.CPUPercent, 1, 1)
	add(used.MemoryBytes, 1<<30, 2)
	add(used.RxBytesPerS, 1e9/8, 3)
	add(used.TxBytesPerS, 1e9/8, 3)
	return texts
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
	for _, name := range []string{metrics.CallLatency, metrics.OpLatency} {
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
	return notes
}
