package metrics

import (
	"fmt"
	"slices"
	"strings"
)

// GroupTable is the table of a group of nodes, every node counting the same:
// averages are means over the nodes (an average node's CPU, memory and traffic,
// not the group's sum, so that groups of different sizes compare), peaks are
// those of the highest node. DataInterface lists the nodes' different names. An
// empty group has the zero Table.
func GroupTable(nodes []Table) Table {
	var group Table
	var names []string
	for _, t := range nodes {
		if !slices.Contains(names, t.DataInterface) {
			names = append(names, t.DataInterface)
		}
		group.CPUPercent.join(t.CPUPercent, len(nodes))
		group.MemoryBytes.join(t.MemoryBytes, len(nodes))
		group.RxBytesPerS.join(t.RxBytesPerS, len(nodes))
		group.TxBytesPerS.join(t.TxBytesPerS, len(nodes))
	}
	group.DataInterface = strings.Join(names, ",")
	return group
}

// join adds one of n nodes to a group.
func (a *AvgPeak) join(node AvgPeak, n int) {
	a.Avg += node.Avg / float64(n)
	a.Peak = max(a.Peak, node.Peak)
}

// Text is the table as the seed printed it, under a title such as "SERVER".
// CPU is in percent of all cores, memory in GiB (2^30 bytes), network in Gb/s
// (10^9 bits per second).
func (t Table) Text(title string) string {
	const gib, gigabit = 1 << 30, 1e9 / 8
	via := ""
	if t.DataInterface != "" {
		via = " (" + t.DataInterface + ")"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "=== %s FINAL HARDWARE METRICS ===\n", title)
	for _, row := range []struct {
		name, unit string
		value      AvgPeak
		per        float64
	}{
		{"CPU Usage", "%", t.CPUPercent, 1},
		{"Memory Usage", "GiB", t.MemoryBytes, gib},
		{"Network RX" + via, "Gb/s", t.RxBytesPerS, gigabit},
		{"Network TX" + via, "Gb/s", t.TxBytesPerS, gigabit},
	} {
		fmt.Fprintf(&b, "%s:\n", row.name)
		fmt.Fprintf(&b, "  - Average: %.2f %s\n", row.value.Avg/row.per, row.unit)
		fmt.Fprintf(&b, "  - Peak:    %.2f %s\n", row.value.Peak/row.per, row.unit)
	}
	return b.String()
}

// Table is the seed's table of hardware metrics: average and peak over the
// window.
type Table struct {
	DataInterface string  `json:"data_interface"`
	CPUPercent    AvgPeak `json:"cpu_percent"`
	MemoryBytes   AvgPeak `json:"memory_bytes"`
	RxBytesPerS   AvgPeak `json:"rx_bytes_per_s"`
	TxBytesPerS   AvgPeak `json:"tx_bytes_per_s"`
}

// AvgPeak is an average over a window and the highest sample in it.
type AvgPeak struct {
	Avg  float64 `json:"avg"`
	Peak float64 `json:"peak"`
}
