package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
)

// read makes the launcher of a witnessed run read both nodes every half second and around
// the window's ends, from 5 s before the window to 1 s after it, in 2 ms each. They make
// 1000 operations and use a tenth of a second of processor time each second, until the window's
// end.
func read(run *judged) {
	opens := run.Nodes[1].Summary.WindowStart
	var at []time.Duration
	for s := -10; s <= 22; s++ {
		at = append(at, time.Duration(s)*time.Second/2)
	}
	for _, edge := range []time.Duration{0, 10 * time.Second} {
		for _, ms := range []time.Duration{-150, -10, 10, 150} {
			at = append(at, edge+ms*time.Millisecond)
		}
	}
	slices.Sort(at)
	for i := range run.Nodes {
		node := &run.Nodes[i]
		for _, t := range at {
			worked := min(t, 10*time.Second) + 10*time.Second
			r := metrics.Reading{
				Asked: opens.Add(t - time.Millisecond), Node: opens.Add(t), Answered: opens.Add(t + time.Millisecond),
				Ops: uint64(worked / time.Millisecond), TookNs: 100_000, CPUNs: new(int64(worked / 10)),
			}
			if node.Role == metrics.Client {
				r.WindowNs = int64(time.Minute + t)
			}
			node.Readings = append(node.Readings, r)
		}
		node.Summary.Saturation = &metrics.Saturation{Start: opens.Add(5 * time.Millisecond), LengthS: 9.99, ProcessCPUPercent: 10}
	}
	server := &run.Nodes[0]
	server.Heard = &metrics.Heard{LengthS: 9.99, Ops: 9988}
	for range 9 {
		server.Heard.Seconds = append(server.Heard.Seconds, metrics.Second{LengthS: 1, Ops: 1000})
	}
	server.Heard.Seconds = append(server.Heard.Seconds, metrics.Second{LengthS: 0.99, Ops: 988})
	server.MedianOpsPerS = new(1000.)
}

// onAnotherMachine puts a node's process on another machine.
func onAnotherMachine(node *metrics.RunNode) {
	for i := range node.Readings {
		node.Readings[i].CPUNs = nil
	}
}

// What the launcher reads of the nodes during a run accuses clocks, counts, medians and
// processor times beyond the uncertainty of the readings, and not within it.
func TestReadings(t *testing.T) {
	clock := func(node *metrics.RunNode, window bool, of func(since time.Duration) time.Duration) {
		first := node.Readings[0]
		for i := range node.Readings {
			r := &node.Readings[i]
			since := r.Node.Sub(first.Node)
			if window {
				r.WindowNs = first.WindowNs + int64(of(since))
			} else {
				r.Node = first.Node.Add(of(since))
			}
		}
	}
	slow := func(share float64) func(time.Duration) time.Duration {
		return func(since time.Duration) time.Duration { return time.Duration(share * float64(since)) }
	}
	stops := func(since time.Duration) time.Duration {
		return min(since, max(8*time.Second, since-30*time.Millisecond))
	}
	resumes := func(since time.Duration) time.Duration {
		if since < 10200*time.Millisecond {
			return min(since, 9900*time.Millisecond)
		}
		return since
	}
	busy := func(run *judged) { // each answer takes up to a second more
		for i := range run.Nodes {
			for j := range run.Nodes[i].Readings {
				r := &run.Nodes[i].Readings[j]
				r.Answered = r.Answered.Add(time.Duration(j*389%1000) * time.Millisecond)
			}
		}
	}
	for _, test := range []struct {
		name  string
		spoil func(server, client *metrics.RunNode, run *judged)
		want  string // "" for VALID
	}{
		{"nothing", func(_, _ *metrics.RunNode, _ *judged) {}, ""},
		{"a busy machine", func(_, _ *metrics.RunNode, run *judged) { busy(run) }, ""},
		{"no reading", func(s, _ *metrics.RunNode, _ *judged) { s.Readings = nil }, "the launcher read the node's clocks 0 times"},
		{"one reading", func(_, c *metrics.RunNode, _ *judged) { c.Readings = c.Readings[:1] }, "the launcher read the node's clocks 1 times"},
		{"clocks 0.5 % fast", func(s, c *metrics.RunNode, _ *judged) { clock(c, true, slow(1.0049)); clock(c, false, slow(1.0049)) }, ""},
		{"the window's clock 0.6 % slow", func(_, c *metrics.RunNode, _ *judged) { clock(c, true, slow(0.994)) }, "the clock of its window advanced by"},
		{"the window's clock 20 % slow, on a busy machine", func(_, c *metrics.RunNode, run *judged) { busy(run); clock(c, true, slow(0.8)) }, "the clock of its window advanced by"},
		{"the records' clock 0.6 % fast", func(s, _ *metrics.RunNode, _ *judged) { clock(s, false, slow(1.006)) }, "the clock of its records advanced by"},
		{"the window's clock stops for 30 ms", func(_, c *metrics.RunNode, _ *judged) { clock(c, true, stops) }, "the clock of its window advanced by"},
		{"the window's clock stops for 100 ms and catches up", func(_, c *metrics.RunNode, _ *judged) { clock(c, true, resumes) }, "the clock of its window advanced by"},
		{"a window 10 % longer", func(_, c *metrics.RunNode, _ *judged) {
			for i := range c.Readings {
				c.Readings[i].Ops = c.Readings[i].Ops * 9 / 10
			}
		}, "the client counts 10000 operations in a window of 10.000 s, at its ends it had told the launcher of"},
		{"a window 10 % shorter", func(_, c *metrics.RunNode, _ *judged) {
			for i := range c.Readings {
				c.Readings[i].Ops = c.Readings[i].Ops * 11 / 10
			}
		}, "the client counts 10000 operations in a window of 10.000 s"},
		{"a server's median doubled", func(s, _ *metrics.RunNode, _ *judged) { *s.MedianOpsPerS = 2000 }, "the server's median is given as 2000.0 ops/s, that of its seconds is 1000.0"},
		{"a server's seconds doubled", func(s, _ *metrics.RunNode, _ *judged) { s.Heard.Ops *= 2 }, "the server's seconds have 19976 operations in 9.990000 s, its window 9988"},
		{"a server's seconds halved in length", func(s, _ *metrics.RunNode, _ *judged) { s.Heard.LengthS /= 2 }, "the server's seconds have 9988 operations in 4.995000 s"},
		{"a server's seconds and window doubled", func(s, _ *metrics.RunNode, _ *judged) { s.Heard.Ops *= 2; s.Summary.InWindow.Gets += 9988 }, "the server counts 19976 operations in its window, the launcher heard of"},
		{"all of it and the readings doubled", func(s, _ *metrics.RunNode, _ *judged) {
			s.Heard.Ops *= 2
			s.Summary.InWindow.Gets += 9988
			for i := range s.Readings {
				s.Readings[i].Ops *= 2
			}
		}, "the server told the launcher of 40000 operations and counts 20002 in all"},
		{"processor time quartered", func(s, _ *metrics.RunNode, _ *judged) { s.Summary.Saturation.ProcessCPUPercent = 2.5 }, "the node reports 0.25 s of processor time in the window, the kernel says 0.9"},
		{"a client's processor time doubled", func(_, c *metrics.RunNode, _ *judged) { c.Summary.Saturation.ProcessCPUPercent = 20 }, "the node reports 2.00 s of processor time in the window"},
		{"a process on another machine", func(s, _ *metrics.RunNode, _ *judged) {
			s.Summary.Saturation.ProcessCPUPercent = 2.5
			onAnotherMachine(s)
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			run := witnessed()
			test.spoil(&run.Nodes[0], &run.Nodes[1], run)
			if got := run.witnesses(); got.Valid != (test.want == "") || !strings.Contains(got.Reason, test.want) {
				t.Errorf("verdict %s, want %q", got, test.want)
			}
		})
	}
}
