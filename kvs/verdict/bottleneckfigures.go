package verdict

import (
	"kvlab/metrics/stats"

	"kvlab/metrics"
)

// busyPercent is the busy share of the cores that a node's process may run on.
func busyPercent(node metrics.RunNode) float64 {
	if p := node.Summary.Saturation; p != nil {
		return p.OwnCoresPercent
	}
	return node.Summary.Usage.CPUPercent.Avg
}

// saturates reports whether a node's process alone uses all of its processors.
func saturates(node metrics.RunNode) bool {
	return node.Summary != nil && node.Summary.Saturation != nil && node.Config != nil && node.Config.MaxProcs > 0 &&
		node.Summary.Saturation.ProcessCPUPercent >= busyCPU*float64(node.Config.MaxProcs)
}

// linkPercent is the use of a node's data link in the busier direction, in percent of
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

// linkOf is the rate in bits per second of a node's data link; 0 unknown.
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
				most(busyPercent(node), node.Name, &f.ServerCPUPercent, &f.ServerCPUNode)
				most(float64(did), node.Name, &f.HottestServer, &f.HottestNode)
			} else {
				most(busyPercent(node), node.Name, &f.ClientCPUPercent, &f.ClientCPUNode)
			}
			most(linkPercent(run, node), node.Name, &f.LinkPercent, &f.LinkNode)
			if p := node.Summary.Saturation; p != nil {
				most(p.GCPercent, node.Name, &f.GCPercent, &f.GCNode)
				most(100*portion(p.Retransmits, p.Segments+p.Retransmits), node.Name, &f.LostPercent, &f.LostNode)
			}
		}
	}
	f.HottestServer = 1 / stats.Balance(perServer)
	times(&f, run)
	return f
}

// times fills in how long calls and operations took, and how many were under way:
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
		*p.share = portion(run.Latency[p.latency].Mean, whole)
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

// portion is a part's share of the whole; 0 without a whole.
func portion[N uint64 | float64](part, whole N) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func sum[N uint64 | float64](numbers []N) (all N) {
	for _, n := range numbers {
		all += n
	}
	return all
}
