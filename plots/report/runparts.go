package report

import (
	"fmt"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
)

// throughputPart is a run's throughput: the result, each node's, and over time.
func throughputPart(r *folder.Run, over drawings) part {
	p := part{Figures: over.named("throughput")}
	if r.WindowS > 0 {
		p.Lead = []string{fmt.Sprintf("%s: %s verified operations in %.3f s, %s.", folder.ResultOf(r.Run), grouped(r.Ops), r.WindowS, metrics.LoopText(r.Offered, r.Ops))}
	}
	t := table{Columns: []string{"node", "role", "ops/s in the window", "gets", "puts", "read-modify-writes", "misses", "median of its seconds, ops/s"}, Names: []int{0, 1}}
	for _, node := range r.Nodes {
		cells := []string{node.Name, string(node.Role), absent, absent, absent, absent, absent, absent}
		if node.Summary != nil {
			in := node.Summary.InWindow
			copy(cells[2:], []string{format.Count(node.Summary.OpsPerS()), grouped(in.Gets), grouped(in.Puts), grouped(in.ReadModifyWrites), grouped(in.Misses)})
		}
		if node.MedianOpsPerS != nil {
			cells[7] = format.Count(*node.MedianOpsPerS)
		}
		t.add(cells...)
	}
	p.Tables = []table{t}
	return p
}

// latencyPart is a run's latencies as a table and by percentile; nil without any.
func latencyPart(r *folder.Run, over drawings) any {
	rows := latencyRows(r.Run)
	if len(rows) == 0 && !r.HasLatencies() {
		return nil
	}
	p := part{Lead: []string{sentence(metrics.LoopText(r.Offered, r.Ops)) + "."}}
	t := table{Caption: "In the window, in milliseconds", Columns: []string{"latency", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max", "calls"}, Names: []int{0}}
	for _, row := range rows {
		t.add(append(append([]string{row.Name}, row.Ms...), row.Samples)...)
	}
	p.Tables = []table{t}
	for _, note := range latencyNotes(r.Run) {
		p.Notes = append(p.Notes, sentence(note)+".")
	}
	p.Figures = over.named("latency")
	return p
}

// usagePart is what each node used, as a table and over time.
func usagePart(r *folder.Run, over drawings) part {
	t := table{Caption: "In the window, average and peak", Names: []int{0, 1}, Columns: []string{"node", "role", "ops/s", "CPU %", "peak", "memory GiB", "peak",
		"received Gb/s", "peak", "sent Gb/s", "peak"}}
	for _, node := range nodeRows(r.Run) {
		t.Rows = append(t.Rows, row{Group: node.Group, Cells: cells(append([]string{node.Name, node.Role, node.OpsPerS}, node.Usage...)...)})
	}
	p := part{Tables: []table{t}}
	for _, node := range r.Nodes {
		if node.Soak != nil {
			p.List = append(p.List, fmt.Sprintf("%s %s: %s.", node.Role, node.Name, node.Soak))
		}
	}
	p.Figures = over.named("cpu", "network", "memory", "soak")
	return p
}

// bottleneckPart says what limits a run, with the figures.
func bottleneckPart(b metrics.Bottleneck) part {
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
		for _, share := range []struct {
			what string
			of   float64
		}{{"before its call was sent", f.WaitShare}, {"until it was written", f.QueueShare}, {"on the network and in both kernels", f.WireShare}, {"in the server", f.ServerShare}} {
			t.add("of that, "+share.what, fmt.Sprintf("%.1f %%", 100*share.of), "")
		}
	}
	return part{Lead: []string{sentence(b.Sentence) + "."}, Tables: []table{t}}
}

// ceilingPart compares a run with its ceilings.
func ceilingPart(r *folder.Run) part {
	c := r.Ceiling
	p := part{Lead: []string{sentence(c.String()) + "."}}
	if c.NullOpsPerS == 0 && c.InprocOpsPerS == 0 {
		return p
	}
	t := table{Columns: []string{"what ran", "ops/s", "over the result"}, Names: []int{0}}
	for _, what := range []struct {
		name string
		rate float64
	}{{"this run", r.OpsPerS}, {"the same clients against servers without a store (-engine null)", c.NullOpsPerS}, {"the clients' own engines in their own processes, without a network", c.InprocOpsPerS}} {
		if what.rate > 0 && r.OpsPerS > 0 {
			t.add(what.name, format.Count(what.rate), fmt.Sprintf("%.2f x", what.rate/r.OpsPerS))
		}
	}
	p.Tables = []table{t}
	return p
}

// skewPart says how unevenly operations fall on records and servers.
func skewPart(s metrics.Skew) part {
	var p part
	if s.TopShare > 0 {
		p.Lead = []string{fmt.Sprintf("%s, %s records: the most popular record has %.3g %% of all operations, so at most %s can be equally busy.",
			s.Law, grouped(s.Records), 100*s.TopShare, format.Plural(stats.MostEven(s.TopShare), "server"))}
	}
	shares := func(caption, what string, name func(i int) string, n int, of func(i int) metrics.Share) {
		t := table{Caption: caption, Columns: []string{what, "theory", "observed at the servers"}, Names: []int{0}}
		for i := range n {
			share := of(i)
			t.add(name(i), sharePercent(share.Theory), sharePercent(share.Observed))
		}
		if n > 0 {
			p.Tables = append(p.Tables, t)
		}
	}
	shares(fmt.Sprintf("The most popular records, in a sample of %s operations", grouped(s.SampledOps)), "rank",
		func(i int) string { return fmt.Sprint(s.Head[i].Rank) }, len(s.Head), func(i int) metrics.Share { return s.Head[i].Share })
	shares("Shares of the servers, -router "+s.Router, "server", func(i int) string { return s.Servers[i].Server }, len(s.Servers),
		func(i int) metrics.Share { return s.Servers[i].Share })
	shares("Kinds of operations", "kind", func(i int) string { return s.Kinds[i].Kind }, len(s.Kinds), func(i int) metrics.Share { return s.Kinds[i].Share })
	if len(s.Balances) > 0 {
		t := table{Caption: "Balance with other numbers of servers", Columns: []string{"servers", "best possible", "-router fnv", "-router balanced"}}
		for _, b := range s.Balances {
			t.add(fmt.Sprint(b.Servers), fmt.Sprintf("%.3f", b.Best), fmt.Sprintf("%.3f", b.FNV), fmt.Sprintf("%.3f", b.Balanced))
		}
		p.Tables = append(p.Tables, t)
	}
	p.Notes = []string{fmt.Sprintf("Of all reads in the window, %.4g %% found their record.", 100*s.HitRate)}
	return p
}

// sharePercent writes a share with two digits after the point.
func sharePercent(share float64) string { return fmt.Sprintf("%.2f %%", 100*share) }
