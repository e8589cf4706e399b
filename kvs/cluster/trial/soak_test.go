package trial

import (
	"strings"
	"testing"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
)

// soaked returns the run of a soak. held is the use of each process in a second of the
// window. In other phases it is larger.
func soaked(held func(node string, second int) metrics.ProcessUsage) metrics.Run {
	p := plan.Plan{Places: []plan.Place{{Name: "s0", Role: metrics.Server}, {Name: "s1", Role: metrics.Server}, {Name: "c0", Role: metrics.Client}, {Name: "c1", Role: metrics.Client}}}
	c := New(Setup{Plan: p, Timeouts: DefaultTimeouts()})
	c.Soak = 10 * time.Minute
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
			c.handle(message{from: m, event: node.Event{Event: node.Report, Record: &metrics.Record{Usage: &u}}})
		}
	}
	var run metrics.Run
	c.Fill(&run)
	return run
}

func TestSoak(t *testing.T) {
	flat := metrics.ProcessUsage{RSSBytes: 1.5e8, HeldBytes: 1e8, GCCycles: 1, Goroutines: 100, OpenFiles: 70}
	const flatText = "held 100.0 MB, +0.0 MB/h (+0.00 %, trend p 1); resident 150.0 MB, +0.0 MB/h (+0.00 %, trend p 1); goroutines 100 to 100 (rise 0); descriptors 70 to 70 (rise 0); "
	for _, test := range []struct {
		name  string
		grows func(u *metrics.ProcessUsage, second int)
		want  string // in what is found of s1
	}{
		{"flat", func(*metrics.ProcessUsage, int) {}, flatText},
		{"memory", func(u *metrics.ProcessUsage, s int) { u.HeldBytes += uint64(s) * 1e5 }, ", +360.0 MB/h (+40.26 %"},
		{"descriptors", func(u *metrics.ProcessUsage, s int) { u.OpenFiles += s / 10 }, "descriptors 76 to 129 (rise 48)"},
		{"goroutines", func(u *metrics.ProcessUsage, s int) { u.Goroutines += s / 10 }, "goroutines 106 to 159 (rise 48)"},
	} {
		run := soaked(func(node string, second int) metrics.ProcessUsage {
			u := flat
			if node == "s1" {
				test.grows(&u, second)
			}
			return u
		})
		for _, node := range run.Nodes {
			want := flatText
			if node.Name == "s1" {
				want = test.want
			}
			if got := node.Soak.String(); !strings.Contains(got, want) {
				t.Errorf("%s: %s: %s, want %s", test.name, node.Name, got, want)
			}
		}
	}
}
