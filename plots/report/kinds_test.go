package report

import (
	"slices"
	"strings"
	"testing"

	"kvlab/metrics"
)

// Tables have the kinds that a run has. Parts of scans stand below all operations.
func TestKindsInTables(t *testing.T) {
	node := func(role metrics.Role, name string, window metrics.Counts) metrics.RunNode {
		return metrics.RunNode{Role: role, Name: name, Summary: &metrics.Summary{WindowLengthS: 1, InWindow: window}}
	}
	for _, test := range []struct {
		name    string
		counts  metrics.Counts
		kinds   string // rows of the exact counts
		columns string // of the nodes
	}{
		{"an earlier workload", metrics.Counts{Gets: 95, Puts: 5, Hits: 95, Calls: 1},
			"get, put, read-modify-write, all", "gets, puts, read-modify-writes, misses"},
		{"all new kinds", metrics.Counts{Puts: 1, Inserts: 5, Deletes: 2, Scans: 95, ScanParts: 190, Calls: 3},
			"put, insert, delete, scan, all, scan-part", "puts, inserts, deletes, scans, scan-parts, misses"},
	} {
		run := metrics.Run{Total: test.counts, Applied: test.counts, Nodes: []metrics.RunNode{
			node(metrics.Server, "s", test.counts), node(metrics.Client, "c", metrics.Counts{Puts: 1}), {Role: metrics.Client, Name: "without a summary"}}}
		var kinds []string
		for _, k := range countsOf(run) {
			if kinds = append(kinds, k.Kind); k.Kind == "all" && k.Verified != test.counts.Ops() {
				t.Errorf("%s: %d operations in all, want %d", test.name, k.Verified, test.counts.Ops())
			}
		}
		if got := strings.Join(kinds, ", "); got != test.kinds {
			t.Errorf("%s: counts of %s, want %s", test.name, got, test.kinds)
		}
		table := ratesTable(run)
		if got := strings.Join(table.Columns[3:len(table.Columns)-1], ", "); got != test.columns {
			t.Errorf("%s: columns %s, want %s", test.name, got, test.columns)
		}
		for _, row := range table.Rows {
			if len(row) != len(table.Columns) {
				t.Errorf("%s: row %q for columns %q", test.name, row, table.Columns)
			}
		}
		if last := table.Rows[2]; slices.ContainsFunc(last[2:], func(text string) bool { return text != absent }) {
			t.Errorf("%s: row %q of a node without a summary", test.name, last)
		}
	}
}
