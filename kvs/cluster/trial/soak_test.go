package trial

import (
	"strings"
	"testing"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/kvs/verdict"
	"kvlab/metrics"
)

// soaked is the run of a soak, in which each process held what held says of it in
// the seconds of the window, and more in those of other phases.
func soaked(held func(node string, second int) metrics.ProcessUsage) metrics.Run {
	p := plan.Plan{Places: []plan.Place{{Name: "s0", Role: metrics.Server}, {Name: "s1", Role: metrics.Server}, {Name: "c0", Role: metrics.Client}, {Name: "c1", Role: metrics.Client}}}
	c := New(Setup{Plan: p, Timeouts: DefaultTimeouts()})
	c.soak = 10 * time.Minute
	for _, place := range p.Places {
		m := &process{Place: place}
		c.processes = append(c.processes, m)
		for second := -100; second < 700; second++ {
			u := metrics.Usage{Phase: metrics.Window, StartS: 110 + float64(second), LengthS: 1, Process: held(place.Name, second)}
			switch {
			case second < 0:
				u.Phase = metrics.WarmUp
			case second >= 600:
				u.Phase = metrics.Drain
			}
			if u.Phase != metrics.Window {
				u.Process = metrics.ProcessUsage{RSSBytes: 1, Goroutines: 1000, OpenFiles: 1000}
			}
			c.handle(message{from: m, event: &node.Event{Event: node.Report, Record: &metrics.Record{Usage: &u}}})
		}
	}
	var run metrics.Run
	c.Fill(&run)
	return run
}

func TestSoak(t *testing.T) {
	flat := metrics.ProcessUsage{RSSBytes: 1.5e8, HeldBytes: 1e8, GCCycles: 1, Goroutines: 100, OpenFiles: 70}
	for _, test := range []struct {
		name  string
		grows func(u *metrics.ProcessUsage, second int)
		want  string // beginning of the fault of s1
	}{
		{"flat", func(*metrics.ProcessUsage, int) {}, ""},
		{"memory", func(u *metrics.ProcessUsage, s int) { u.HeldBytes += uint64(s) * 1e5 }, "memory grows in 536 s: held 1"},
		{"descriptors", func(u *metrics.ProcessUsage, s int) { u.OpenFiles += s / 10 }, "open descriptors rise by "},
		{"goroutines", func(u *metrics.ProcessUsage, s int) { u.Goroutines += s / 10 }, "goroutines rise by "},
	} {
		run := soaked(func(node string, second int) metrics.ProcessUsage {
			u := flat
			if node == "s1" {
				test.grows(&u, second)
			}
			return u
		})
		for _, node := range run.Nodes {
			want := ""
			if node.Name == "s1" {
				want = test.want
			}
			if got := verdict.SoakFault(*node.Soak); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
				t.Errorf("%s: fault %q of %s, want %q", test.name, got, node.Name, want)
			}
		}
		const want = "held 100.0 MB, +0.0 MB/h (+0.00 %, trend p 1); resident 150.0 MB, "
		if text := run.Nodes[3].Soak.String(); !strings.HasPrefix(text, want) {
			t.Errorf("%s: %s, want %s...", test.name, text, want)
		}
	}
}
