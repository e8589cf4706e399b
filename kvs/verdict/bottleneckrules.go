package verdict

import (
	"fmt"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// The thresholds of the rules. Those without a source are this project's.
const (
	// busyCPU is the use from which processors count as saturated: a window's edges
	// and the kernel's work take the rest. Load generators are commonly distrusted
	// from here on.
	busyCPU = 90.0
	// idleCPU is the use below which operations wait for something else.
	idleCPU = 70.0
	// fullLink is of the rate of a link: of 1538 bytes on a wire with an MTU of
	// 1500 TCP carries 1448, 94 %.
	fullLink = 90.0
	// muchOther is enough other work to hide a difference between two stores.
	muchOther = 25.0
	// muchGC is what Go's collector takes of the processors while it runs
	// (gcBackgroundUtilization in runtime/mgcpacer.go): from there on it never
	// rests.
	muchGC = 25.0
	// muchLost is the loss at which TCP sends 12 segments a round trip at most,
	// 1.22 over its root (Mathis, Semke, Mahdavi and Ott, Computer Communication
	// Review 27(3), 1997).
	muchLost = 1.0
	// muchHotter is a share of the operations that the other servers wait for:
	// with 1.1 times the mean one tenth of what they could do is lost.
	muchHotter = 1.1
)

// offered: an open loop that the store keeps up with.
func (d diagnosis) offered() (metrics.BottleneckKind, string, string) {
	o := d.run.Offered
	if o == nil || o.Saturated(d.run.Ops) != "" {
		return "", "", ""
	}
	return metrics.LimitOffered, "", fmt.Sprintf("%s ops/s, of which %.1f %% were achieved", format.Count(o.OpsPerS), 100*o.Achieved(d.run.Ops))
}

// link: a node's link is full, whatever else is busy.
func (d diagnosis) link() (metrics.BottleneckKind, string, string) {
	if d.f.LinkPercent < fullLink {
		return "", "", ""
	}
	full := func(node metrics.RunNode) bool { return linkPercent(d.run, node) >= fullLink }
	if d.hottestAlone(full) && d.f.LinkNode == d.f.HottestNode {
		return metrics.LimitHottest, d.f.HottestNode, fmt.Sprintf("%s with %.2fx the mean, its network link %.0f %%", d.f.HottestNode, d.f.HottestServer, d.f.LinkPercent)
	}
	return metrics.LimitLink, d.f.LinkNode, fmt.Sprintf("%.0f %% of what it carries on %s", d.f.LinkPercent, d.f.LinkNode)
}

// tooFew: fewer calls can be under way than there are processors. A call keeps at most
// one busy.
func (d diagnosis) tooFew() (metrics.BottleneckKind, string, string) {
	cores := 0.0
	for _, m := range d.machines {
		if cores += m.cores; m.cpu-m.other() >= busyCPU {
			return "", "", ""
		}
	}
	if d.f.InFlight == 0 || d.mostCalls() >= cores {
		return "", "", ""
	}
	return metrics.LimitConcurrency, "", d.waiting()
}

// otherWork: a machine is busy, much of its work is not the run's, and no process of
// the run uses all of its processors.
func (d diagnosis) otherWork() (metrics.BottleneckKind, string, string) {
	if slices.ContainsFunc(d.run.Nodes, saturates) {
		return "", "", ""
	}
	for _, m := range d.machines {
		if name := m.nodes[0].Name; m.cpu >= busyCPU && m.other() >= muchOther {
			return metrics.LimitOther, name, fmt.Sprintf("it takes %.0f %% of the processors of %s, servers %.0f %%, clients %.0f %%, network %.0f %%",
				m.other(), name, m.process[metrics.Server], m.process[metrics.Client], m.network)
		}
	}
	return "", "", ""
}

// garbage: a process collects garbage all the time, and its processors are busy.
func (d diagnosis) garbage() (metrics.BottleneckKind, string, string) {
	for _, node := range d.run.Nodes {
		if node.Summary == nil || node.Summary.Saturation == nil || busyPercent(node) < busyCPU {
			continue
		}
		if percent := node.Summary.Saturation.GCPercent; percent >= muchGC {
			return metrics.LimitGC, node.Name, fmt.Sprintf("collecting it takes %.0f %% of the %s's time on %s", percent, node.Role, node.Name)
		}
	}
	return "", "", ""
}

// hottestAlone reports whether one server does clearly more than the mean and it alone
// is at a limit.
func (d diagnosis) hottestAlone(atLimit func(metrics.RunNode) bool) bool {
	if d.f.HottestServer < muchHotter {
		return false
	}
	for _, node := range d.run.Servers() {
		if node.Summary != nil && atLimit(node) != (node.Name == d.f.HottestNode) {
			return false
		}
	}
	return true
}

// processors: those of servers, of clients, or of both.
func (d diagnosis) processors() (metrics.BottleneckKind, string, string) {
	busy := func(node metrics.RunNode) bool { return busyPercent(node) >= busyCPU }
	switch limit, node, percent := d.busiest(); {
	case percent < busyCPU:
		return "", "", ""
	case limit == metrics.LimitServerCPU && d.hottestAlone(busy):
		return metrics.LimitHottest, node, fmt.Sprintf("%s with %.2fx the mean, its processors %.0f %%", node, d.f.HottestServer, percent)
	default:
		for _, m := range d.machines {
			if m.shared() && m.has(node) {
				return metrics.LimitShared, node, fmt.Sprintf("its processors %.0f %% on %s, servers %.0f %%, clients %.0f %%, network %.0f %%",
					percent, node, m.process[metrics.Server], m.process[metrics.Client], m.network)
			}
		}
		return limit, node, fmt.Sprintf("%.0f %% on %s", percent, node)
	}
}

// busiest is the side whose busiest processors are the busier.
func (d diagnosis) busiest() (metrics.BottleneckKind, string, float64) {
	if d.f.ServerCPUPercent >= d.f.ClientCPUPercent {
		return metrics.LimitServerCPU, d.f.ServerCPUNode, d.f.ServerCPUPercent
	}
	return metrics.LimitClientCPU, d.f.ClientCPUNode, d.f.ClientCPUPercent
}

// lost: TCP waits for segments that did not arrive.
func (d diagnosis) lost() (metrics.BottleneckKind, string, string) {
	if d.f.LostPercent < muchLost {
		return "", "", ""
	}
	return metrics.LimitRetransmits, d.f.LostNode, fmt.Sprintf("%.1f %% of the segments from %s were sent again", d.f.LostPercent, d.f.LostNode)
}

// concurrency: no processors are busy.
func (d diagnosis) concurrency() (metrics.BottleneckKind, string, string) {
	if _, _, busiest := d.busiest(); d.f.InFlight == 0 || busiest >= idleCPU {
		return "", "", ""
	}
	return metrics.LimitConcurrency, "", d.waiting()
}

// waiting says what operations wait for.
func (d diagnosis) waiting() string {
	where, share := longest(d.f)
	return fmt.Sprintf("%.3g calls under way at a time, and %.0f %% of an operation's %.3g ms pass %s; more -workers, or a larger -batch",
		d.f.InFlight, 100*share, d.f.OpMicros/1e3, where)
}

// longest is where an operation spends most of its time, and the share of it.
func longest(f metrics.BottleneckFigures) (where string, share float64) {
	for _, part := range []struct {
		where string
		share float64
	}{
		{"before its call is sent", f.WaitShare},
		{"in the client's queue", f.QueueShare},
		{"on the network", f.WireShare},
		{"in the server", f.ServerShare},
	} {
		if part.share > share {
			where, share = part.where, part.share
		}
	}
	return where, share
}

// mostCalls is how many calls can be under way at a time.
func (d diagnosis) mostCalls() float64 {
	return float64(d.run.Count(metrics.Client)*d.run.Workers()*max(d.run.InFlight(), 1)) * float64(d.run.Count(metrics.Server))
}
