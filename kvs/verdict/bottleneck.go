package verdict

import (
	"fmt"

	"kvlab/metrics"
)

// FindBottleneck says what limits a run that ended, and on which node, from its record
// alone.
func FindBottleneck(run metrics.Run) *metrics.Bottleneck {
	machines := machinesOf(run)
	d := diagnosis{run: run, machines: machines, f: figuresOf(run, machines)}
	kind, node, why := d.limit()
	b := &metrics.Bottleneck{Kind: kind, Node: node, Figures: d.f, Sentence: fmt.Sprintf("limited by %s: %s", kind, why)}
	if kind == metrics.LimitUnknown {
		b.Sentence = "cannot tell what limits: " + why
	}
	for _, figure := range words(d.f, kind, run.Count(metrics.Server) > 1) {
		b.Sentence += "; " + figure
	}
	return b
}

// diagnosis is a run that the rules examine.
type diagnosis struct {
	run      metrics.Run
	machines []*machineLoad
	f        metrics.BottleneckFigures
}

// words are the figures worth adding to a sentence that already names a bottleneck.
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
