package report

import (
	"cmp"
	"fmt"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/chart"
	"kvlab/plots/folder"
)

// Report is a run as one HTML page, with its figures and its data.
func Report(r *folder.Run) ([]byte, error) {
	p := page{
		Kind: "run", ID: r.ID,
		Verdict: r.Verdict.String(), Good: r.Verdict.Valid,
		Headline: folder.ResultOf(r.Run),
		What:     "No window was common to all clients, so there is no result.",
		Warnings: warnings(r),
	}
	if r.WindowS > 0 {
		p.Interval = "One run is one sample and has no interval; run-cluster.sh --trials 6 gives one."
		p.What = fmt.Sprintf("%s: %s verified operations in a window of %s s.", sentence(describe(r)), grouped(r.Ops), format.Tenths(r.WindowS))
	}
	over, err := runFigures(r)
	if err != nil {
		return nil, err
	}
	p.Sections = append([]section{measurementSection(r), throughputSection(r, over)}, resourceSections(r, over)...)
	p.Sections = append(p.Sections,
		section{ID: "configuration", Title: "Configuration", Settings: settings(r)},
		hardwareSection(r.Nodes),
		section{ID: "reproduce", Brief: true, Title: "Reproduce", Commands: reproduceRun(r)},
		section{ID: "raw", Brief: true, Title: "Raw data", Files: []rawFile{{"run.json", r.Run}}})
	return p.render()
}

// describe is a run's work and nodes.
func describe(r *folder.Run) string {
	return strings.TrimPrefix(folder.DescribeWork(r.Workload)+" on "+folder.DescribeTopology(r.Run), " on ")
}

// sentence begins with a capital letter.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// warnings weaken a run's result, each in a sentence.
func warnings(r *folder.Run) []string {
	var all []string
	if len(r.Missing) > 0 {
		all = append(all, "This run folder is incomplete. Missing: "+strings.Join(r.Missing, "; ")+".")
	}
	if r.Ceiling != nil && r.Ceiling.ClientBound {
		all = append(all, r.Ceiling.String()+".")
	}
	if r.WarmUp != nil && !r.WarmUp.Stationary {
		all = append(all, r.WarmUp.String()+".")
	}
	return append(all, placeWarnings(r)...)
}

// placeWarnings say that a run was not on a cluster.
func placeWarnings(r *folder.Run) []string {
	switch {
	case r.Lab != nil:
		return []string{sentence(r.Lab.String()) + ": not a cluster's number."}
	case oneMachine(r.Nodes):
		return []string{"Servers and clients shared one machine, its cores and its loopback interface: not a cluster's number."}
	}
	return nil
}

// oneMachine reports whether all of several nodes say that they were on the same
// machine.
func oneMachine(nodes []metrics.RunNode) bool {
	name := ""
	for _, node := range nodes {
		if node.Config == nil || node.Config.Host.Hostname == "" || node.Config.Host.Hostname != cmp.Or(name, node.Config.Host.Hostname) {
			return false
		}
		name = node.Config.Host.Hostname
	}
	return len(nodes) > 1
}

// resourceSections are a run's latency, what its nodes used, and what limited it.
func resourceSections(r *folder.Run, over drawings) []section {
	return []section{latencySection(r, over), usageSection(r, over), bottleneckSection(r.Bottleneck), ceilingSection(r), skewSection(r.Skew)}
}

// runFigures are the figures of a run; none if its nodes recorded nothing.
func runFigures(r *folder.Run) (drawings, error) {
	if len(r.Logs) == 0 {
		return nil, nil
	}
	return drawAll(chart.Figures(r))
}

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

// skewLines are the shares that the servers observed, with theory's in brackets, in
// at most three lines.
func skewLines(s *metrics.Skew) []string {
	if s == nil {
		return nil
	}
	var kinds []string
	for _, k := range s.Kinds {
		if k.Theory > 0 || k.Observed > 0 {
			kinds = append(kinds, fmt.Sprintf("%s %s", bracketed(k.Share), k.Kind))
		}
	}
	lines := []string{fmt.Sprintf("the servers saw (in theory): %s; %.4g %% of the reads hit", strings.Join(kinds, ", "), 100*s.HitRate)}
	if len(s.Head) > 0 {
		lines = append(lines, fmt.Sprintf("  the most popular record %s, the first %d %s, of %s operations sampled",
			bracketed(s.Head[0].Share), len(s.Head), bracketed(s.HeadTotal()), format.Count(float64(s.SampledOps))))
	}
	if n := len(s.Servers); n > 1 {
		most, balance := s.Busiest(), s.Balance()
		lines = append(lines, fmt.Sprintf("  the busiest server, %s, %s; balance %.3f (%.3f), and %.3f at best with %d servers",
			format.Label(most.Server, 32), bracketed(most.Share), balance.Observed, balance.Theory, stats.BestBalance(n, s.TopShare), n))
	}
	return lines
}

// bracketed writes a share as it was observed and, in brackets, in theory.
func bracketed(s metrics.Share) string {
	return fmt.Sprintf("%.2f %% (%.2f %%)", 100*s.Observed, 100*s.Theory)
}

// skewSection says how unevenly operations fall on records and servers.
func skewSection(skew *metrics.Skew) section {
	if skew == nil {
		return section{}
	}
	s := section{ID: "skew", Title: "Skew", Notes: []string{fmt.Sprintf("Of all reads in the window, %.4g %% found their record.", 100*skew.HitRate)}}
	if skew.TopShare > 0 {
		s.Lead = []string{fmt.Sprintf("%s, %s records: the most popular record has %.3g %% of all operations, so at most %s can be equally busy.",
			skew.Law, grouped(skew.Records), 100*skew.TopShare, format.Plural(stats.MostEven(skew.TopShare), "server"))}
	}
	head := shareTable(fmt.Sprintf("The most popular records, in a sample of %s operations", grouped(skew.SampledOps)), "rank")
	for _, h := range skew.Head {
		head.addShare(fmt.Sprint(h.Rank), h.Share)
	}
	servers := shareTable("Shares of the servers, -router "+skew.Router, "server")
	for _, server := range skew.Servers {
		servers.addShare(server.Server, server.Share)
	}
	kinds := shareTable("Kinds of operations", "kind")
	for _, kind := range skew.Kinds {
		kinds.addShare(kind.Kind, kind.Share)
	}
	balances := table{Caption: "Balance with other numbers of servers", Columns: []string{"servers", "best possible", "-router fnv", "-router balanced"}}
	for _, b := range skew.Balances {
		balances.add(fmt.Sprint(b.Servers), fmt.Sprintf("%.3f", b.Best), fmt.Sprintf("%.3f", b.FNV), fmt.Sprintf("%.3f", b.Balanced))
	}
	s.Tables = []table{head, servers, kinds, balances}
	return s
}

// shareTable returns an empty table of shares.
func shareTable(caption, what string) table {
	return table{Caption: caption, Columns: []string{what, "theory", "observed at the servers"}, Names: []int{0}}
}

// addShare appends a row of one share.
func (t *table) addShare(name string, share metrics.Share) {
	t.add(name, fmt.Sprintf("%.2f %%", 100*share.Theory), fmt.Sprintf("%.2f %%", 100*share.Observed))
}
