package report

import (
	"kvlab/metrics"
)

// traceTable compares the operations of a replay's trace, by command, with what a replay makes
// of them, by kind, and with what the clients of this run sent and verified.
func traceTable(run metrics.Run) table {
	t := table{Names: []int{0}, Columns: []string{"command", "in the trace", "left out"}}
	if run.Skew == nil || run.Skew.Replay == nil {
		return t
	}
	t.Caption = "What a replay of the whole trace makes of its operations, and what this run sent"
	var sent metrics.Counts
	for _, client := range run.Summaries(metrics.Client) {
		for _, peer := range client.Peers {
			sent = sent.Add(peer.Drawn())
		}
	}
	kinds := sent.ByKind()
	all := metrics.TraceCommand{Name: "all", As: make([]uint64, metrics.OpKinds)}
	commands := run.Skew.Replay.Commands
	for _, c := range commands {
		all.Ops, all.LeftOut = all.Ops+c.Ops, all.LeftOut+c.LeftOut
		for kind, n := range c.As {
			all.As[kind] += n
		}
	}
	last := []string{"this run", absent, absent}
	for kind, n := range all.As {
		if n > 0 || kinds[kind] > 0 {
			t.Columns, last = append(t.Columns, metrics.KindNames[kind]+"s"), append(last, grouped(kinds[kind]))
		}
	}
	for _, c := range append(commands[:len(commands):len(commands)], all) {
		row := []string{c.Name, grouped(c.Ops), grouped(c.LeftOut)}
		for kind := range all.As {
			if all.As[kind] > 0 || kinds[kind] > 0 {
				n := uint64(0)
				if kind < len(c.As) {
					n = c.As[kind]
				}
				row = append(row, grouped(n))
			}
		}
		t.add(row...)
	}
	t.add(last...)
	t.Groups = 2
	return t
}
