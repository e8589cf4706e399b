package report

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/latency"
	"kvlab/plots/folder"
)

// RunSummary is a run as text for a terminal: what each node and each group used
// in the window, the latencies, and the total. Every line ends with a line
// feed.
func RunSummary(run metrics.Run) string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "node\trole\tops/s\tCPU %\tpeak\tmemory GiB\tpeak\trx Gb/s\tpeak\ttx Gb/s\tpeak\t")
	for _, row := range nodeRows(run) {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t\n", format.Label(row.Name, 32), row.Role, row.OpsPerS, strings.Join(row.Usage, "\t"))
	}
	table.Flush()
	if rows := latencyRows(run); len(rows) > 0 {
		fmt.Fprintf(&out, "\n%s\n", metrics.LoopText(run.Offered, run.Ops))
		fmt.Fprintln(table, "latency ms\tmean\tp50\tp90\tp99\tp99.9\tp99.99\tmax\tsamples\t")
		for _, row := range rows {
			fmt.Fprintf(table, "%s\t%s\t%s\t\n", row.Name, strings.Join(row.Ms, "\t"), row.Samples)
		}
		table.Flush()
		for _, line := range latencyNotes(run) {
			fmt.Fprintln(&out, line)
		}
	}
	fmt.Fprintf(&out, "\n%s: %s", folder.DescribeTopology(run), folder.ResultOf(run))
	if run.WindowS > 0 {
		fmt.Fprintf(&out, " in all, %s ops in a %s s window", format.Count(float64(run.Ops)), format.Tenths(run.WindowS))
	}
	fmt.Fprintln(&out)
	for _, line := range skewLines(run.Skew) {
		fmt.Fprintln(&out, line)
	}
	if w := run.WarmUp; w != nil && (w.Extended || !w.Stationary) {
		fmt.Fprintln(&out, w)
	}
	if run.Ceiling != nil {
		fmt.Fprintln(&out, run.Ceiling)
	}
	if run.Bottleneck != nil {
		fmt.Fprintln(&out, run.Bottleneck.Sentence)
	}
	if run.Encrypted() {
		fmt.Fprintln(&out, "calls were encrypted (TLS 1.3): to be compared with their like")
	}
	if set := run.Preflight.StepText(); set != "" {
		fmt.Fprintln(&out, set)
	}
	if run.Retries != nil {
		fmt.Fprintln(&out, run.Retries)
	}
	if run.Lab != nil {
		fmt.Fprintf(&out, "%s: not a cluster's number\n", run.Lab)
	}
	return out.String()
}

// nodeRow is a node, or a group of nodes, in a table.
type nodeRow struct {
	Name, Role, OpsPerS string
	Group               bool
	Usage               []string // CPU, memory, received, sent: average and peak of each
}

// nodeRows are the run's servers and clients, then the two groups.
func nodeRows(run metrics.Run) []nodeRow {
	var rows []nodeRow
	for _, node := range run.Nodes {
		row := nodeRow{Name: node.Name, Role: string(node.Role), OpsPerS: absent}
		var used metrics.Table
		if node.Summary != nil {
			used = node.Summary.Usage
		}
		if node.Summary != nil && node.Summary.InWindow.Ops() > 0 {
			row.OpsPerS = format.Count(node.Summary.OpsPerS())
		}
		row.Usage = usageCells(used)
		rows = append(rows, row)
	}
	for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
		if used, ok := run.Usage[role]; ok && run.Count(role) > 1 {
			name := fmt.Sprintf("%d %ss", run.Count(role), role)
			rows = append(rows, nodeRow{Name: name, Role: string(role), OpsPerS: absent, Group: true, Usage: usageCells(used)})
		}
	}
	return rows
}

// absent is the text of a value that was not measured.
const absent = "-"

// usageCells writes the averages and peaks of a usage table.
func usageCells(used metrics.Table) []string {
	var cells []string
	for _, column := range []struct {
		used   metrics.AvgPeak
		unit   float64
		digits int
	}{
		{used.CPUPercent, 1, 1},
		{used.MemoryBytes, (1 << 30), 2},
		{used.RxBytesPerS, 1e9 / 8, 3},
		{used.TxBytesPerS, 1e9 / 8, 3},
	} {
		for _, v := range []float64{column.used.Avg, column.used.Peak} {
			if used == (metrics.Table{}) {
				cells = append(cells, absent)
				continue
			}
			cells = append(cells, fmt.Sprintf("%.*f", column.digits, v/column.unit))
		}
	}
	return cells
}

// latencyRow is one latency in a table.
type latencyRow struct {
	Name    string
	Ms      []string // mean, p50, p90, p99, p99.9, p99.99, max
	Samples string
}

// latencyRows are the run's latencies in milliseconds. A percentile that the
// sample cannot support is n/a.
func latencyRows(run metrics.Run) []latencyRow {
	var rows []latencyRow
	for _, name := range latency.Names {
		q, ok := run.Latency[name]
		if !ok || q.Count+q.OutOfRange == 0 {
			continue
		}
		row := latencyRow{Name: name, Samples: format.Count(float64(q.Count))}
		if q.OutOfRange > 0 {
			row.Samples += fmt.Sprintf(" + %d out of range", q.OutOfRange)
		}
		for _, us := range []*float64{&q.Mean, q.P50, q.P90, q.P99, q.P999, q.P9999, &q.Max} {
			if us == nil {
				row.Ms = append(row.Ms, "n/a")
				continue
			}
			row.Ms = append(row.Ms, format.Milliseconds(*us))
		}
		rows = append(rows, row)
	}
	return rows
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
		for _, p := range []struct {
			name string
			ci   *[2]float64
		}{{"p50", q.CI95.P50}, {"p99", q.CI95.P99}, {"p99.9", q.CI95.P999}} {
			if p.ci != nil {
				parts = append(parts, fmt.Sprintf("%s %s to %s", p.name, format.Milliseconds(p.ci[0]), format.Milliseconds(p.ci[1])))
			}
		}
		notes = append(notes, fmt.Sprintf("%s, 95 %% intervals in ms: %s", name, strings.Join(parts, ", ")))
	}
	return notes
}
