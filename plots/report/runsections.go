package report

import (
	"fmt"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/folder"
)

// throughputSection is a run's throughput: the result, each node's, and over time.
func throughputSection(r *folder.Run, over drawings) section {
	s := section{ID: "throughput", Title: "Throughput", Figures: over.named("throughput")}
	if r.WindowS > 0 {
		s.Lead = []string{fmt.Sprintf("%s: %s verified operations in %.3f s, %s.", folder.ResultOf(r.Run), grouped(r.Ops), r.WindowS, metrics.LoopText(r.Offered, r.Ops))}
	}
	t := table{Columns: []string{"node", "role", "ops/s in the window", "gets", "puts", "read-modify-writes", "misses", "median of its seconds, ops/s"}, Names: []int{0, 1}}
	for _, node := range r.Nodes {
		texts := []string{node.Name, string(node.Role), absent, absent, absent, absent, absent, absent}
		if node.Summary != nil {
			in := node.Summary.InWindow
			copy(texts[2:], []string{format.Count(node.Summary.OpsPerS()), grouped(in.Gets), grouped(in.Puts), grouped(in.ReadModifyWrites), grouped(in.Misses)})
		}
		if node.MedianOpsPerS != nil {
			texts[7] = format.Count(*node.MedianOpsPerS)
		}
		t.add(texts...)
	}
	s.Tables = []table{t}
	return s
}

// latencySection is a run's latencies as a table and by percentile.
func latencySection(r *folder.Run, over drawings) section {
	t := latencyTable(r.Run)
	if len(t.Rows) == 0 && !r.HasLatencies() {
		return section{}
	}
	t.Caption = "In the window"
	s := section{ID: "latency", Title: "Latency", Lead: []string{sentence(metrics.LoopText(r.Offered, r.Ops)) + "."}, Tables: []table{t}, Figures: over.named("latency")}
	for _, note := range latencyNotes(r.Run) {
		s.Notes = append(s.Notes, sentence(note)+".")
	}
	return s
}

// usageSection is what each node used, as a table and over time.
func usageSection(r *folder.Run, over drawings) section {
	t := nodeTable(r.Run)
	t.Caption = "In the window, average and peak"
	s := section{ID: "usage", Title: "Usage per node", Tables: []table{t}, Figures: over.named("cpu", "network", "memory", "soak")}
	for _, node := range r.Nodes {
		if node.Soak != nil {
			s.List = append(s.List, fmt.Sprintf("%s %s: %s.", node.Role, node.Name, node.Soak))
		}
	}
	return s
}

// bottleneckSection says what limits a run, with the figures.
func bottleneckSection(b *metrics.Bottleneck) section {
	if b == nil {
		return section{}
	}
	f := b.Figures
	t := table{Columns: []string{"figure", "value", "node"}, Names: []int{0, 2}}
	add := func(what, format string, v float64, node string) {
		if v != 0 {
			t.add(what, fmt.Sprintf(format, v), node)
		}
	}
	add("CPU of the busiest server", "%.0f %%", f.ServerCPUPercent, f.ServerCPUNode)
	add("CPU of the busiest client", "%.0f %%", f.ClientCPUPercent, f.ClientCPUNode)
	add("CPU of what is not the run's, the most", "%.0f %%", f.OtherCPUPercent, f.OtherCPUNode)
	add("tasks that ran or waited, for each processor", "%.2f", f.Runnable, "")
	add("the fullest link, of what it carries", "%.0f %%", f.LinkPercent, f.LinkNode)
	add("hottest server, over the mean server", "%.2f", f.HottestServer, f.HottestNode)
	add("processor time that collects garbage, the most", "%.1f %%", f.GCPercent, f.GCNode)
	add("segments sent again, the most", "%.3f %%", f.LostPercent, f.LostNode)
	add("calls under way, the mean", "%.1f", f.InFlight, "")
	if f.OpMicros > 0 {
		t.add("mean time of an operation", format.Milliseconds(f.OpMicros)+" ms", "")
		share := func(what string, of float64) { t.add("of that, "+what, fmt.Sprintf("%.1f %%", 100*of), "") }
		share("before its call was sent", f.WaitShare)
		share("until it was written", f.QueueShare)
		share("on the network and in both kernels", f.WireShare)
		share("in the server", f.ServerShare)
	}
	return section{ID: "bottleneck", Brief: true, Title: "Bottleneck", Lead: []string{sentence(b.Sentence) + "."}, Tables: []table{t}}
}

// ceilingSection compares a run with its ceilings.
func ceilingSection(r *folder.Run) section {
	c := r.Ceiling
	if c == nil {
		return section{}
	}
	t := table{Columns: []string{"what ran", "ops/s", "over the result"}, Names: []int{0}}
	add := func(what string, rate float64) {
		if rate > 0 && r.OpsPerS > 0 {
			t.add(what, format.Count(rate), fmt.Sprintf("%.2f x", rate/r.OpsPerS))
		}
	}
	if c.NullOpsPerS > 0 || c.InprocOpsPerS > 0 || c.WireOpsPerS > 0 {
		add("this run", r.OpsPerS)
	}
	add("the same clients against servers without a store (-engine null)", c.NullOpsPerS)
	add("the clients' own engines in their own processes, without a network", c.InprocOpsPerS)
	add("the frames alone, sent again and again", c.WireOpsPerS)
	return section{ID: "ceiling", Brief: true, Title: "Ceiling", Lead: []string{sentence(c.String()) + "."}, Tables: []table{t}}
}
