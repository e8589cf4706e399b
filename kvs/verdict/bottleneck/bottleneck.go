// Package bottleneck says what limits a run, by pure functions of a metrics.Run.
package bottleneck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

// Find says what limits a run that ended, and on which node, from its record
// alone.
func Find(run metrics.Run) *metrics.Bottleneck {
	machines := machinesOf(run)
	d := diagnosis{run: run, machines: machines, f: figuresOf(run, machines)}
	kind, node, why := d.limit()
	b := &metrics.Bottleneck{Kind: kind, Node: node, Figures: d.f, Why: why}
	if kind == metrics.LimitConcurrency || kind == metrics.LimitLatency {
		b.Advice = "more -workers, or a larger -batch"
	}
	sentence := []string{"limited by " + b.Cause(), b.Advice}
	if kind == metrics.LimitUnknown {
		sentence[0] = b.Cause()
	}
	b.Sentence = strings.Join(format.NonEmpty(append(sentence, words(d.f, kind, run.Count(metrics.Server) > 1)...)...), "; ")
	return b
}

// LinkIsFull reports whether a link carries what it can. b may be nil.
func LinkIsFull(b *metrics.Bottleneck) bool { return b != nil && b.Figures.LinkPercent >= fullLink }

// diagnosis is a run that the rules examine.
type diagnosis struct {
	run      metrics.Run
	machines []*machineLoad
	f        metrics.BottleneckFigures
}

// words returns the figures worth adding to a sentence that already names a bottleneck.
func words(f metrics.BottleneckFigures, said metrics.BottleneckKind, servers bool) []string {
	var words []string
	add := func(worth bool, layout string, args ...any) {
		if worth {
			words = append(words, fmt.Sprintf(layout, args...))
		}
	}
	add(said != metrics.LimitServerCPU && f.ServerCPUNode != "", "server CPU %.0f %% on %s", f.ServerCPUPercent, f.ServerCPUNode)
	add(said != metrics.LimitClientCPU && f.ClientCPUNode != "", "client CPU %.0f %% on %s", f.ClientCPUPercent, f.ClientCPUNode)
	add(said != metrics.LimitOther && f.OtherCPUPercent >= 5, "other work %.0f %% on %s", f.OtherCPUPercent, f.OtherCPUNode)
	add(said != metrics.LimitLink && f.LinkNode != "", "link %.0f %% on %s", f.LinkPercent, f.LinkNode)
	add(said != metrics.LimitHottest && servers && f.HottestServer > 1, "hottest server %.2fx the mean (%s)", f.HottestServer, f.HottestNode)
	add(said != metrics.LimitGC && f.GCPercent >= 1, "garbage %.0f %% on %s", f.GCPercent, f.GCNode)
	add(said != metrics.LimitRetransmits && f.LostPercent >= 0.05, "%.1f %% of segments sent again from %s", f.LostPercent, f.LostNode)
	add(f.Runnable >= 2, "%.1f tasks for each core", f.Runnable)
	return words
}

// The thresholds of the rules. Those without a source are this project's.
const (
	// busyCPU is the use from which processors count as saturated: a window's edges
	// and the kernel's work take the rest. Load generators are commonly distrusted
	// from here on.
	busyCPU = 90.0
	// IdleCPU is the use below which operations wait for something else.
	IdleCPU = 70.0
	// fullLink is of the rate of a link: of 1538 bytes on a wire with an MTU of
	// 1500 TCP carries 1448, 94 %.
	fullLink = 90.0
	// MuchOther is enough other work on a machine, in per cent of its processors, to hide
	// a difference between two stores.
	MuchOther = 25.0
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

// limit returns what limits the run, on which node, and an explanation. The first rule
// that holds decides.
func (d diagnosis) limit() (kind metrics.BottleneckKind, node, why string) {
	f, offered := d.f, d.run.Offered
	_, _, busiest := d.busiest()
	fullLinks := func(node metrics.RunNode) bool { return linkPercent(d.run, node) >= fullLink }
	switch crowded, collector := d.crowded(), d.collector(); {
	case offered != nil && offered.Saturated(d.run.Ops) == "": // the store keeps up with an open loop
		return metrics.LimitOffered, "", fmt.Sprintf("%s ops/s, of which %.1f %% were achieved", format.Count(offered.OpsPerS), 100*offered.Achieved(d.run.Ops))
	case f.LinkPercent >= fullLink && f.LinkNode == f.HottestNode && d.hottestAlone(fullLinks):
		return metrics.LimitHottest, f.HottestNode, fmt.Sprintf("%s with %.2fx the mean, its network link %.0f %%", f.HottestNode, f.HottestServer, f.LinkPercent)
	case f.LinkPercent >= fullLink: // whatever else is busy
		return metrics.LimitLink, f.LinkNode, fmt.Sprintf("%.0f %% of what it carries on %s", f.LinkPercent, f.LinkNode)
	case d.tooFew():
		return metrics.LimitConcurrency, "", d.waiting()
	case crowded != nil && !d.waits():
		return metrics.LimitOther, crowded.name(), fmt.Sprintf("it takes %.0f %% of the processors of %s, %s", crowded.other(), crowded.name(), crowded.split())
	case collector != nil && !d.waits():
		return metrics.LimitGC, collector.Name, fmt.Sprintf("collecting it takes %.0f %% of the %s's time on %s", collector.Summary.Saturation.GCPercent, collector.Role, collector.Name)
	case busiest >= busyCPU && !d.waits():
		return d.processors()
	case f.LostPercent >= muchLost: // TCP waits for segments that did not arrive
		return metrics.LimitRetransmits, f.LostNode, fmt.Sprintf("%.1f %% of the segments from %s were sent again", f.LostPercent, f.LostNode)
	case f.InFlight > 0 && (busiest < IdleCPU || d.waits()):
		if d.run.Store != nil {
			return metrics.LimitLatency, "", d.waiting()
		}
		return metrics.LimitConcurrency, "", d.waiting()
	}
	return metrics.LimitUnknown, "", "nothing is at its limit, and the processors are not idle"
}

// tooFew reports whether fewer calls can be in flight than there are processors. A call
// keeps at most one busy.
func (d diagnosis) tooFew() bool {
	cores := 0.0
	for _, m := range d.machines {
		if cores += m.cores; m.cpu-m.other() >= busyCPU {
			return false
		}
	}
	calls := d.run.Count(metrics.Client) * d.run.Workload.Workers() * d.run.Workload.InFlight() * d.run.Count(metrics.Server)
	return d.f.InFlight > 0 && float64(calls) < cores
}

// waits reports whether the run's calls wait for no processor, on any machine.
func (d diagnosis) waits() bool {
	return len(d.machines) > 0 && !slices.ContainsFunc(d.machines, func(m *machineLoad) bool { return !m.waits() })
}

// crowded returns a busy machine much of whose work is not the run's; nil if there is
// none, or if a process of the run uses all of its processors.
func (d diagnosis) crowded() *machineLoad {
	at := slices.IndexFunc(d.machines, func(m *machineLoad) bool { return m.cpu >= busyCPU && m.other() >= MuchOther })
	if at < 0 || slices.ContainsFunc(d.run.Nodes, saturates) {
		return nil
	}
	return d.machines[at]
}

// collector returns a node with busy processors whose process collects garbage all the
// time; nil if there is none.
func (d diagnosis) collector() *metrics.RunNode {
	at := slices.IndexFunc(d.run.Nodes, func(node metrics.RunNode) bool {
		return node.Summary != nil && node.Summary.Saturation != nil && busyPercent(node) >= busyCPU && node.Summary.Saturation.GCPercent >= muchGC
	})
	if at < 0 {
		return nil
	}
	return &d.run.Nodes[at]
}

// hottestAlone reports whether one server does clearly more than the mean and it alone
// is at a limit.
func (d diagnosis) hottestAlone(atLimit func(metrics.RunNode) bool) bool {
	return d.f.HottestServer >= muchHotter && !slices.ContainsFunc(d.run.Servers(), func(node metrics.RunNode) bool {
		return node.Summary != nil && atLimit(node) != (node.Name == d.f.HottestNode)
	})
}

// processors returns which processors limit the run: those of servers, of clients, or
// of both.
func (d diagnosis) processors() (metrics.BottleneckKind, string, string) {
	limit, node, percent := d.busiest()
	if limit == metrics.LimitServerCPU && d.hottestAlone(func(node metrics.RunNode) bool { return busyPercent(node) >= busyCPU }) {
		return metrics.LimitHottest, node, fmt.Sprintf("%s with %.2fx the mean, its processors %.0f %%", node, d.f.HottestServer, percent)
	}
	for _, m := range d.machines {
		if m.shared() && slices.ContainsFunc(m.nodes, func(n metrics.RunNode) bool { return n.Name == node }) {
			return metrics.LimitShared, node, fmt.Sprintf("its processors %.0f %% on %s, %s%s", percent, node, m.split(), d.quota(node))
		}
	}
	return limit, node, fmt.Sprintf("%.0f %% on %s%s", percent, node, d.quota(node))
}

// busiest returns the side whose busiest processors are the busier.
func (d diagnosis) busiest() (metrics.BottleneckKind, string, float64) {
	if d.f.ServerCPUPercent >= d.f.ClientCPUPercent {
		return metrics.LimitServerCPU, d.f.ServerCPUNode, d.f.ServerCPUPercent
	}
	return metrics.LimitClientCPU, d.f.ClientCPUNode, d.f.ClientCPUPercent
}

// waiting says in which part operations spend most of their time.
func (d diagnosis) waiting() string {
	longest := slices.MaxFunc(partsOf(&d.f), func(a, b part) int { return cmp.Compare(*a.share, *b.share) })
	takes := fmt.Sprintf("a call takes %.3g ms", d.run.Latency[metrics.CallLatency].Mean/1e3)
	if *longest.share > 0 { // not of a foreign store
		takes = fmt.Sprintf("%.0f %% of an operation's %.3g ms pass %s", 100**longest.share, d.f.OpMicros/1e3, longest.where)
	}
	return fmt.Sprintf("%.3g calls in flight at a time, and %s", d.f.InFlight, takes)
}

// busyPercent returns the busy share of what a node's process may use: of its cores, or of the
// quota of its cgroup; 0 unknown.
func busyPercent(node metrics.RunNode) float64 {
	if p := node.Summary.Saturation; p != nil {
		return max(p.OwnCoresPercent, p.ThrottledPercent)
	}
	return 0
}

// saturates reports whether a node's process alone uses all of its processors.
func saturates(node metrics.RunNode) bool {
	if node.Summary == nil || node.Summary.Saturation == nil || node.Config == nil {
		return false
	}
	p, procs := node.Summary.Saturation, float64(node.Config.MaxProcs)
	return p.ThrottledPercent >= busyCPU || procs > 0 && p.ProcessCPUPercent >= busyCPU*procs
}

// quota says of a node's processors, if it is so, that the quota of its cgroup is the limit.
func (d diagnosis) quota(name string) string {
	for _, node := range d.run.Nodes {
		if p := node.Summary; node.Name == name && p != nil && p.Saturation != nil && p.Saturation.ThrottledPercent >= busyCPU {
			return ", whose cgroup's quota of processor time ran out (cpu.max, cpu.cfs_quota_us)"
		}
	}
	return ""
}

// linkPercent returns the use of a node's data link in the busier direction, in percent of
// its rate; 0 where the rate is not known.
func linkPercent(run metrics.Run, node metrics.RunNode) float64 {
	bits := linkOf(run.Preflight, node)
	if run.Lab != nil {
		bits = run.Lab.LinkBitsPerS
	}
	if bits == 0 {
		return 0
	}
	used := node.Summary.Usage
	return 100 * 8 * max(used.RxBytesPerS.Avg, used.TxBytesPerS.Avg) / float64(bits)
}

// linkOf returns the rate in bits per second of a node's data link; 0 unknown.
func linkOf(p *metrics.Preflight, node metrics.RunNode) uint64 {
	if p == nil {
		return 0
	}
	for _, m := range p.Machines {
		for i, name := range m.Nodes {
			if name == node.Name && m.Roles[i] == node.Role && m.Facts != nil {
				return m.Facts.Data.BitsPerS
			}
		}
	}
	return 0
}

// figuresOf computes the figures of a run.
func figuresOf(run metrics.Run, machines []*machineLoad) metrics.BottleneckFigures {
	var f metrics.BottleneckFigures
	f.OtherCPUPercent, f.OtherCPUNode = OtherWork(run)
	var perServer []uint64
	most := func(value float64, node string, highest *float64, name *string) {
		if value > *highest {
			*highest, *name = value, node
		}
	}
	for _, m := range machines {
		f.Runnable = max(f.Runnable, m.runnable/m.cores)
		for _, node := range m.nodes {
			if node.Role == metrics.Server {
				did := node.Summary.InWindow.Ops() + node.Summary.InWindow.ScanParts
				perServer = append(perServer, did)
				if !node.Elsewhere() {
					most(busyPercent(node), node.Name, &f.ServerCPUPercent, &f.ServerCPUNode)
				}
				most(float64(did), node.Name, &f.HottestServer, &f.HottestNode)
			} else {
				most(busyPercent(node), node.Name, &f.ClientCPUPercent, &f.ClientCPUNode)
			}
			most(linkPercent(run, node), node.Name, &f.LinkPercent, &f.LinkNode)
			if p := node.Summary.Saturation; p != nil {
				most(p.GCPercent, node.Name, &f.GCPercent, &f.GCNode)
				most(100*stats.Portion(p.Retransmits, p.Segments+p.Retransmits), node.Name, &f.LostPercent, &f.LostNode)
			}
		}
	}
	f.HottestServer = 1 / stats.Balance(perServer)
	times(&f, run)
	return f
}

// times fills in how long calls and operations took, and how many were in flight:
// their rate times their time (Little, Operations Research 9, 1961).
func times(f *metrics.BottleneckFigures, run metrics.Run) {
	calls := 0.0
	for _, s := range run.Summaries(metrics.Client) {
		calls += metrics.PerSecond(float64(s.InWindow.Calls), s.WindowLengthS)
	}
	f.InFlight = calls * run.Latency[metrics.CallLatency].Mean / 1e6
	f.OpMicros = run.Latency[metrics.OpLatency].Mean
	if run.Store != nil {
		return // its servers do not say how long they take
	}
	whole := 0.0
	for _, p := range partsOf(f) {
		whole += run.Latency[p.latency].Mean
	}
	for _, p := range partsOf(f) {
		*p.share = stats.Portion(run.Latency[p.latency].Mean, whole)
	}
}

// part is a part of the time of an operation.
type part struct {
	latency, where string
	share          *float64
}

func partsOf(f *metrics.BottleneckFigures) []part {
	return []part{
		{metrics.WaitLatency, "before its call is sent", &f.WaitShare},
		{metrics.QueueLatency, "in the client's queue", &f.QueueShare},
		{metrics.WireLatency, "on the network", &f.WireShare},
		{metrics.ServerLatency, "in the server", &f.ServerShare},
	}
}
