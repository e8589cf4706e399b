package grade

import (
	"strings"
	"testing"

	"kvlab/metrics"
)

// An evening goes on with another budget, and with nothing else that is new.
func TestContinue(t *testing.T) {
	base := func() metrics.Sweep {
		return metrics.Sweep{Class: &metrics.Class{BudgetS: 60, Entries: []metrics.Entry{{Name: "ref"}, {Name: "team-7", Kind: metrics.TargetEntry, Sum: "p1", Source: "f1"}}}}
	}
	for _, test := range []struct {
		change func(*metrics.Class)
		want   string // part of the error; "" for none
	}{
		{func(c *metrics.Class) { c.BudgetS = 120 }, ""},
		{func(c *metrics.Class) { c.Entries[1].Sum = "p2" }, ""}, // what a build command makes may differ each time
		{func(c *metrics.Class) { c.Entries[1].Source = "f2" }, "the entry team-7 has changed since: measure a new version with --only team-7"},
		{func(c *metrics.Class) { c.Entries[1].Broken = "x" }, "the entry team-7 has changed since"},
		{func(c *metrics.Class) { c.MemoryMB = 5 }, "the class's file has changed"},
		{func(c *metrics.Class) { c.Entries = c.Entries[:1] }, "the class has other entries"},
	} {
		begun, today := base(), base()
		test.change(today.Class)
		got, err := new(planner).Continue(begun, today)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
		if err == nil && (got.Class.BudgetS != today.Class.BudgetS || got.Class.Entries[1].Sum != "p1") {
			t.Errorf("it goes on with %+v", got.Class)
		}
	}
}

// What cannot be measured is named before the first trial.
func TestMissing(t *testing.T) {
	class := metrics.Class{Entries: []metrics.Entry{{Name: "fine"}, {Name: "odd", Broken: "main.go:1: syntax error"}}}
	if got, want := missing(class), "odd does not build: main.go:1: syntax error\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
