package verdict

import (
	"fmt"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// checkAccounts: the nodes report all that flags and capabilities imply that the other checks
// need. These rely on it: none of them passes because something is missing.
func checkAccounts(run *judged) finding {
	if run.expected == nil {
		return failed("", "the clients' flags do not say what to expect: %v", run.unexpected)
	}
	for _, node := range run.Nodes {
		missing := run.clientLacks
		if node.Role == metrics.Server {
			missing = run.serverLacks
		}
		if what := missing(node); what != "" {
			return failed(node.Name, "the %s gives no account of %s", node.Role, what)
		}
	}
	switch clients := run.Clients(); {
	case run.Audit == nil && !run.replays() && !slices.ContainsFunc(run.Nodes, metrics.RunNode.Storeless):
		return failed("", "the clients give no account of the final audit")
	case run.Check == nil && len(clients) > 1 && (clients[0].Config.Flags.Linearizable() || clients[0].Config.Flags.Serializable()):
		return failed("", "-linearizable or -serializable gives no account of all clients together")
	}
	return passed("%s told all that their flags and capabilities imply", format.Plural(len(run.Nodes), "node"))
}

// lacks returns the first of some accounts that is missing; "" for none.
func lacks(accounts []owed) string {
	if i := slices.IndexFunc(accounts, func(a owed) bool { return a.missing }); i >= 0 {
		return accounts[i].of
	}
	return ""
}

// owed is something that a node must tell.
type owed struct {
	missing bool
	of      string
}

// clientLacks returns what a client does not tell.
func (run *judged) clientLacks(node metrics.RunNode) string {
	s := node.Summary
	if node.Config == nil || len(node.Config.Classes.Of) == 0 {
		return "its flags and its machine"
	}
	flags, v, h := node.Config.Flags, s.Verification, node.Heard
	for _, flag := range []string{"workers", "call-timeout", "sample-every"} {
		if flags[flag] == "" {
			return "its -" + flag
		}
	}
	if what := lacks([]owed{
		{len(s.Workers) == 0, "its workers"},
		{len(s.Workers) != flags.Workers(), fmt.Sprintf("all of its %d workers (-workers)", flags.Workers())},
		{s.Edges == nil || s.Edges.SlotS <= 0 || len(s.Edges.First) != metrics.EdgeSlots || len(s.Edges.Last) != metrics.EdgeSlots, "when in its window its replies came"},
		{len(s.Peers) != run.Count(metrics.Server), fmt.Sprintf("its calls to each of %d servers", run.Count(metrics.Server))},
		{s.Saturation == nil, "the processor time that it used"},
		{s.Bytes.Sent == 0 || s.Bytes.Received == 0 || s.InWindow.Ops() > 0 && (s.BytesInWindow.Sent == 0 || s.BytesInWindow.Received == 0), "the bytes that it sent and received"},
		{s.WindowStart.IsZero(), "when its window began"},
		{s.Total.Hits > 0 && v.Checked+v.AnyKey+v.Unchecked == 0, "the values that it checked"},
		{h == nil || h.Start.IsZero() || h.LengthS <= 0, "its seconds in the window, as the launcher hears them"},
		{(s.Offered != nil) != run.Workload.Open(), "the operations that it offered (-rate)"},
		{(flags.Linearizable() || flags.Serializable()) && (s.Check == nil || s.Check.Serial != flags.Serializable()), "what it recorded (-linearizable, -serializable)"},
		{run.soaks() && node.Soak == nil, "what it held in the soak"},
	}); what != "" {
		return what
	}
	for i, w := range s.Workers {
		r := w.Rounds
		if what := lacks([]owed{
			{r == nil, "the rounds"},
			{w.Drawn > 0 && (w.Opening == "" || w.Redrawn == "" || w.OpeningOps == 0), "the first operations"},

			{r != nil && s.InWindow.Ops() > 0 && r.MostOps == 0 && w.Drawn > 0 && flags.Txn() == 0, "the largest round"},
		}); what != "" {
			return fmt.Sprintf("%s of worker %d", what, i)
		}
	}
	return ""
}

// serverLacks returns what a server, or the host of a foreign store, does not tell.
func (run *judged) serverLacks(node metrics.RunNode) string {
	s := node.Summary
	if node.Config == nil || node.Config.Capabilities == nil || len(node.Config.Classes.Of) == 0 {
		return "its flags and capabilities"
	}
	if node.Foreign() {
		return "" // checkExecuted asks for its counts
	}
	sampled := run.Restart == nil && run.expected.cells != nil
	return lacks([]owed{
		{s.Saturation == nil, "the processor time that it used"},
		{s.Seen == nil, "what it saw of its operations"},
		{run.Restart == nil && slices.ContainsFunc(s.Peers, func(p metrics.PeerCounts) bool { return p.Counts.Calls > 0 && len(p.Sessions) == 0 }), "the connections of its clients"},
		{run.Restart == nil && (!marked(s.Opening) || !marked(s.Closing)), "its counts when the window began and ended"},
		{run.Restart == nil && s.Seen != nil && len(s.Seen.Groups) == 0, "its operations by groups of keys"},
		{sampled && s.Seen != nil && len(s.Seen.Groups) != len(run.expected.cells[0]), "its operations by groups of keys"},
		{sampled && s.Seen != nil && (s.Seen.Keys == nil || s.Seen.Writes == nil), "its operations and its writes by key"},
	})
}

func marked(m *metrics.Marks) bool {
	return m != nil && !m.Start.IsZero() && len(m.AtS) > 0 && len(m.AtS) == len(m.Ops)
}

// soaks reports whether the launcher watched the memory of any node.
func (run *judged) soaks() bool {
	return slices.ContainsFunc(run.Nodes, func(n metrics.RunNode) bool { return n.Soak != nil })
}
