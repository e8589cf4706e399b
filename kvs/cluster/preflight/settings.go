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

// Settings returns the settings of a preflight's machines as text, a row for each setting
// and machines that have it alike: its value, the one that is recommended, who can set it,
// and who recommends it. The commands that set the recommended values follow.
func Settings(p metrics.Preflight) string {
	var rows []metrics.HostSetting
	names := map[metrics.HostSetting][]string{} // of the machines, by row
	for _, m := range p.Machines {
		if m.Facts == nil {
			continue
		}
		for _, s := range m.Facts.Settings {
			if names[s] = append(names[s], m.Name()); len(names[s]) == 1 {
				rows = append(rows, s)
			}
		}
	}
	order := map[string]int{}
	for i, s := range rows {
		if _, known := order[s.Name]; !known {
			order[s.Name] = i
		}
	}
	slices.SortStableFunc(rows, func(a, b metrics.HostSetting) int { return cmp.Compare(order[a.Name], order[b.Name]) })
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "setting\tvalue\trecommended\tset by\tsource\tnodes")
	for _, s := range rows {
		nodes, want := strings.Join(names[s], ","), s.Want
		if len(names[s]) == len(p.Machines) {
			nodes = "all"
		}
		if s.Meets() {
			want = "as it is"
		}
		if s.Setter == metrics.SetAbsent {
			want = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, cmp.Or(s.Value, "-"), want, s.Setter, s.Source, nodes)
	}
	table.Flush() // to memory: no error
	commands(&b, rows)
	return b.String()
}

// commands adds the commands that set what differs from its recommendation.
func commands(b *strings.Builder, rows []metrics.HostSetting) {
	var lines []string
	for _, s := range rows {
		if s.Meets() || s.Setter != metrics.SetInNamespace && s.Setter != metrics.SetOnHost {
			continue
		}
		line := fmt.Sprintf("sysctl -w %s=%s", s.Name, format.QuoteWord(s.Want))
		device, isRings := strings.CutPrefix(s.Name, "rings ")
		switch {
		case isRings:
			line = "ethtool -G " + device + " " + s.Want
		case s.Name == "thp":
			line = "echo " + s.Want + " >/sys/kernel/mm/transparent_hugepage/enabled"
		case s.Name == "governor":
			line = "cpupower frequency-set -g " + s.Want
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "\nas root on each host, until it boots again (kvlab sets none of them):\n  %s\n", strings.Join(lines, "\n  "))
	}
}
