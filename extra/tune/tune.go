// Package tune prints the settings of machines that decide how fast they are, with the commands
// that set the recommended values. It sets none.
package tune

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kvlab/kvs/cluster/preflight"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Row is the launcher's flag --tune.
var Row = preflight.View{
	Flag:  "tune",
	Usage: "show: print the settings of every host that affect its speed, with recommended values and the commands that set them; start nothing",
	Check: func(value string) error {
		if value != "show" {
			return errors.New("want show: it prints the commands that set a host")
		}
		return nil
	},
	Text: show,
}

// show returns the settings of a preflight's machines as text. A row has a setting, its value,
// the value that is recommended, who can set it, who recommends it, and the machines on which
// all of this is the same. The commands that set the recommended values follow.
func show(p metrics.Preflight) string {
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
	cells := [][]string{{"setting", "value", "recommended", "set by", "source", "nodes"}}
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
		cells = append(cells, []string{s.Name, cmp.Or(s.Value, "-"), want, string(s.Setter), s.Source, nodes})
	}
	return format.Aligned(cells) + commands(rows)
}

// commands returns the commands that set those values that are not the recommended ones.
func commands(rows []metrics.HostSetting) string {
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
	if len(lines) == 0 {
		return ""
	}
	return fmt.Sprintf("\nas root on each host, until it boots again (kvlab sets none of them):\n  %s\n", strings.Join(lines, "\n  "))
}
