package cluster

import (
	"strings"
	"testing"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
)

// soaked is goodRun as a soak, in which each process held what held says of it in
// the seconds of the window, and more in those of other phases.
func soaked(held func(node string, second int) metrics.ProcessUsage) *metrics.Run {
	run := goodRun()
	p := plan.Plan{}
	for _, node := range run.Nodes {
		p.Places = append(p.Places, plan.Place{Name: node.Name, Role: node.Role})
	}
	c := newConductor(p, nil, defaultLimits(), "", nil, nil)
	c.soak = 10 * time.Minute
	for i, place := range p.Places {
		m := &member{Place: place, summary: run.Nodes[i].Summary}
		c.members = append(c.members, m)
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
			c.hear(message{from: m, event: &node.Event{Event: node.Report, Record: &metrics.Record{Usage: &u}}})
		}
	}
	run.Nodes = nil
	c.fill(run)
	total(run)
	return run
}

func TestSoak(t *testing.T) {
	flat := metrics.ProcessUsage{RSSBytes: 1.5e8, HeldBytes: 1e8, GCCycles: 1, Goroutines: 100, OpenFiles: 70}
	for _, test := range []struct {
		name  string
		grows func(u *metrics.ProcessUsage, second int)
		want  string // beginning of the verdict
	}{
		{"flat", func(*metrics.ProcessUsage, int) {}, "VALID"},
		{"memory", func(u *metrics.ProcessUsage, s int) { u.HeldBytes += uint64(s) * 1e5 }, "INVALID(server in the soak: memory grows in 536 s: held 1"},
		{"descriptors", func(u *metrics.ProcessUsage, s int) { u.OpenFiles += s / 10 }, "INVALID(server in the soak: open descriptors rise by "},
		{"goroutines", func(u *metrics.ProcessUsage, s int) { u.Goroutines += s / 10 }, "INVALID(server in the soak: goroutines rise by "},
	} {
		run := soaked(func(node string, second int) metrics.ProcessUsage {
			u := flat
			if node == "s1" {
				test.grows(&u, second)
			}
			return u
		})
		got := judge(*run).String()
		if !strings.HasPrefix(got, test.want) || test.want != "VALID" && !strings.HasSuffix(got, ", s1)") {
			t.Errorf("%s: verdict %s, want %s of s1", test.name, got, test.want)
		}
		if text := soakText(*run); strings.Count(text, "\n") != 5 || !strings.Contains(text, "soak client c1: held 100.0 MB, +0.0 MB/h (+0.00 %, trend p 1); resident 150.0 MB, ") {
			t.Errorf("%s: lines\n%s", test.name, text)
		}
	}
	if run := goodRun(); soakText(*run) != "" {
		t.Errorf("a run that is no soak says %q", soakText(*run))
	}
}
