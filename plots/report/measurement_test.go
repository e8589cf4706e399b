package report

import (
	"reflect"
	"testing"

	"kvlab/metrics"
)

// The table of the machines' properties says which machines have which value, and leaves
// out what no machine shows.
func TestTraitsTable(t *testing.T) {
	machine := func(name, smt string) metrics.Machine {
		return metrics.Machine{Nodes: []string{name}, Facts: &metrics.Facts{Traits: map[string]string{"smt": smt, "clocksource": "tsc", "boost": metrics.Absent, "swap": "none"}}}
	}
	got := traitsTable(&metrics.Preflight{Machines: []metrics.Machine{machine("a", "on"), machine("b", "off"), machine("c", "on")}})
	want := [][]string{{"clocksource", "tsc", "all"}, {"smt", "off", "b"}, {"smt", "on", "a, c"}}
	if !reflect.DeepEqual(got.Rows, want) {
		t.Errorf("%q, want %q", got.Rows, want)
	}
	if rows := traitsTable(&metrics.Preflight{Machines: []metrics.Machine{{Nodes: []string{"a"}}}}).Rows; rows != nil {
		t.Errorf("a machine without facts has rows %q", rows)
	}
}
