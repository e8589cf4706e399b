package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// columns are the names of the cells of cellsOf.
var columns = []string{"cpu", "memory", "kernel", "governor", "link", "clock", "rtt", "files", "disk"}

// Table returns a preflight as text: a row for each machine with the facts that differ,
// then the facts that are equal on all machines, then the findings.
func Table(p metrics.Preflight) string {
	rows, cells := [][]string{{"node", "role", "address"}}, [][]string{columns}
	for _, m := range p.Machines {
		rows = append(rows, []string{strings.Join(unique(m.Nodes), ","), strings.Join(unique(m.Roles), ","), m.Address})
		cells = append(cells, cellsOf(p, m))
	}
	var common [][]string
	for c, name := range columns {
		if len(p.Machines) > 0 && !slices.ContainsFunc(cells[1:], func(row []string) bool { return row[c] != cells[1][c] }) {
			common = append(common, []string{"  " + name, cells[1][c]})
			continue
		}
		for i := range rows {
			rows[i] = append(rows[i], cells[i][c])
		}
	}
	rows[0] = append(rows[0], "check")
	for i, m := range p.Machines {
		rows[i+1] = append(rows[i+1], gradeOf(p, m))
	}
	var b strings.Builder
	b.WriteString(format.Aligned(rows))
	if len(common) > 0 && len(p.Machines) > 1 {
		b.WriteString("every node:\n")
	}
	b.WriteString(format.Aligned(common))
	for _, f := range p.Findings {
		fmt.Fprintf(&b, "%s %s: %s: %s\n", strings.ToUpper(string(f.Grade)), cmp.Or(f.Node, "launcher"), f.Fact, f.Text)
		if f.Type != "" {
			fmt.Fprintf(&b, "     type: %s\n", f.Type)
		}
	}
	if len(p.Findings) > 0 {
		b.WriteString("what to do about each: " + page + "\n")
	}
	b.WriteString(line(p) + "\n")
	return b.String()
}

// line summarizes a preflight.
func line(p metrics.Preflight) string {
	text := fmt.Sprintf("preflight: %s in %.1f s, ", format.Plural(len(p.Machines), "machine"), p.LengthS)
	failures := len(p.Failures())
	switch warnings := len(p.Findings) - failures; {
	case failures > 0:
		return text + format.Plural(failures, "failure") + ": nothing is started"
	case warnings > 0:
		return text + format.Plural(warnings, "warning")
	}
	return text + "all as it should be"
}

// gradeOf returns the worst finding about a machine.
func gradeOf(p metrics.Preflight, m metrics.Machine) string {
	for _, f := range p.Findings { // the worst first
		if slices.Contains(m.Nodes, f.Node) {
			return string(f.Grade)
		}
	}
	return "ok"
}

// unique returns the words without duplicates.
func unique[T ~string](words []T) []string {
	var once []string
	for _, w := range words {
		if !slices.Contains(once, string(w)) {
			once = append(once, string(w))
		}
	}
	return once
}

// cellsOf returns a machine's cells, one for each column.
func cellsOf(p metrics.Preflight, m metrics.Machine) []string {
	const unknown = "-"
	f := m.Facts
	if f == nil {
		return slices.Repeat([]string{unknown}, len(columns))
	}
	clock := unknown
	if c := m.ClockBefore; c != nil {
		clock = fmt.Sprintf("%+.2f ms (within %.2f)", c.OffsetS*1e3, c.BoundS*1e3)
	}
	return []string{
		f.Architecture + " " + cpuText(f),
		fmt.Sprintf("%s of %s", format.Bytes(f.Host.MemoryAvailableBytes), format.Bytes(f.Host.MemoryTotalBytes)),
		f.Host.Kernel,
		cmp.Or(strings.Join(f.Governors, ","), unknown),
		cmp.Or(f.Data.Name, unknown) + " " + linkText(f.Data),
		clock,
		rttText(p.RTTs, m.Name()),
		fmt.Sprint(f.OpenFilesLimit),
		fmt.Sprintf("%s (%s)", format.Bytes(f.FreeBytes), f.FileSystem),
	}
}

// rttText returns the least and the greatest round-trip time from a machine.
func rttText(rtts []metrics.RTT, from string) string {
	var times []float64
	for _, r := range rtts {
		if r.From == from && r.Err == "" {
			times = append(times, r.US)
		}
	}
	if len(times) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f-%.0f us", slices.Min(times), slices.Max(times))
}
