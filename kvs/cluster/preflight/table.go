package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Table returns a preflight as text: a row for each machine with the facts that differ,
// then the facts that are equal on all machines, then the findings.
func Table(p metrics.Preflight) string {
	var b strings.Builder
	columns := columnsOf(p)
	head, common := []string{"node", "role", "address"}, [][2]string{}
	var shown []column
	for _, c := range columns {
		if c.same() {
			common = append(common, [2]string{c.name, c.cells[0]})
		} else {
			head, shown = append(head, c.name), append(shown, c)
		}
	}
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(append(head, "check"), "\t"))
	for i, m := range p.Machines {
		row := []string{strings.Join(unique(m.Nodes), ","), strings.Join(unique(m.Roles), ","), m.Address}
		for _, c := range shown {
			row = append(row, c.cells[i])
		}
		fmt.Fprintln(table, strings.Join(append(row, gradeOf(p, m)), "\t"))
	}
	table.Flush() // to memory: no error
	if len(common) > 0 && len(p.Machines) > 1 {
		b.WriteString("every node:\n")
	}
	for _, fact := range common {
		fmt.Fprintf(table, "  %s\t%s\n", fact[0], fact[1])
	}
	table.Flush()
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

// column is one fact of every machine.
type column struct {
	name  string
	cells []string
}

// same reports whether the fact is equal on all machines.
func (c column) same() bool {
	return len(c.cells) > 0 && !slices.ContainsFunc(c.cells, func(cell string) bool { return cell != c.cells[0] })
}

// columnsOf returns the table's columns.
func columnsOf(p metrics.Preflight) []column {
	columns := []column{{name: "cpu"}, {name: "memory"}, {name: "kernel"}, {name: "governor"}, {name: "link"}, {name: "clock"}, {name: "rtt"}, {name: "files"}, {name: "disk"}}
	for _, m := range p.Machines {
		for i, cell := range cellsOf(p, m) {
			columns[i].cells = append(columns[i].cells, cell)
		}
	}
	return columns
}

// cellsOf returns a machine's cells, one for each column.
func cellsOf(p metrics.Preflight, m metrics.Machine) []string {
	const unknown = "-"
	f := m.Facts
	if f == nil {
		return slices.Repeat([]string{unknown}, 9)
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
