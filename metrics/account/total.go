package account

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Total sums the summaries of run: the common window, the result and the counts of
// both sides. A missing summary adds nothing. It refuses latencies of
// a run that did not reach its offered load.
func Total(run *metrics.Run) {
	run.Usage = make(map[metrics.Role]metrics.Table)
	for role, total := range map[metrics.Role]*metrics.Counts{metrics.Server: &run.Applied, metrics.Client: &run.Total} {
		var tables []metrics.Table
		for _, s := range run.Summaries(role) {
			tables = append(tables, s.Usage)
			run.Retries = run.Retries.Add(s.Retries)
			*total = total.Add(s.Total)
		}
		if role == metrics.Server && run.Restart != nil {
			*total = total.Add(run.Restart.Reported)
		}
		if tables != nil {
			run.Usage[role] = metrics.GroupTable(tables)
		}
	}
	run.Transactions = nil
	for _, s := range run.Summaries(metrics.Client) {
		if s.Transactions != nil {
			run.Transactions = new(cmp.Or(run.Transactions, new(metrics.TransactionCounts)).Add(s.Transactions.Window))
		}
	}
	totalStore(run)
	totalWindow(run)
	metrics.Refuse(run.Latency, run.Offered.Saturated(run.Ops))
}

// totalStore fills in what a result says of its store, how strongly the counts of both
// sides are compared, and how many reads third-party clients made.
func totalStore(run *metrics.Run) {
	run.Counting, run.Store, run.Durability, run.StrangerReads, run.Beside = metrics.CountsExact, nil, "", 0, nil
	if slices.ContainsFunc(run.Nodes, func(node metrics.RunNode) bool { return node.Summary == nil }) {
		run.Counting = "" // nothing is compared of a run that ended early
	}
	for i, node := range run.Servers() {
		s := node.Summary
		if s != nil && s.Strangers != nil {
			run.StrangerReads += s.Strangers.Gets + s.Strangers.Scans
		}
		if c := node.Config; c != nil && c.Capabilities != nil && c.Capabilities.Durability != "" {
			run.Durability = "engine " + c.Flags.Engine() + ", " + c.Capabilities.Durability
		}
		if !node.Foreign() {
			continue
		}
		can := node.Config.Capabilities
		if run.Store == nil {
			run.Store = &metrics.Store{
				Name: can.Engine, Driver: can.Driver, Version: can.Version, Commit: can.Commit, Binary: can.Binary, Settings: can.Settings,
				Connections: run.Workload.Connections(),
				Missing:     []string{"the servers' samples", "their window"},
			}
			if can.Unseen != "" {
				run.Store.Missing = append(run.Store.Missing, "their processes ("+can.Unseen+")")
			}
		}
		if can.Counts == metrics.CountsNone {
			run.Counting = metrics.CountsNone
		}
		if s != nil && s.Store != nil {
			executed, verified := s.Store.Executed().Gets, s.Store.Reads(run.VerifiedBy(i))
			run.StrangerReads += executed - min(executed, verified)
			_, beside := s.Store.Strangers()
			for name, n := range beside {
				if run.Beside == nil {
					run.Beside = make(map[string]uint64)
				}
				run.Beside[name] += n
			}
		}
	}
	if run.Counting == metrics.CountsExact && (run.Restart != nil || run.Store != nil && run.Retries != nil) {
		run.Counting = metrics.CountsBounded
	}
	if run.Restart != nil {
		run.Durability = strings.Join(format.NonEmpty(run.Durability, "a server killed in the window"), ", ")
	}
}

// totalWindow fills in the common window and the operations inside it, to half an edge
// slot at each end. All clients' windows are by one clock (metrics.Record.Time).
func totalWindow(run *metrics.Run) {
	clients := run.Summaries(metrics.Client)
	if len(clients) == 0 {
		return
	}
	opens, closes, shortest := clients[0].WindowStart, clients[0].WindowEnd(), clients[0].WindowLengthS
	for _, c := range clients[1:] {
		if c.WindowStart.After(opens) {
			opens = c.WindowStart
		}
		if end := c.WindowEnd(); end.Before(closes) {
			closes = end
		}
		shortest = min(shortest, c.WindowLengthS)
	}
	if shortest <= 0 {
		return
	}
	run.WindowStart, run.WindowS = opens, max(0, closes.Sub(opens).Seconds())
	run.OverlapShare = min(1, run.WindowS/shortest)
	if totalWitness(run) {
		return
	}
	for _, c := range clients {
		if c.Claim != nil { // of the seconds that the program was told
			run.Ops += uint64(c.Claim.OpsPerS * run.Settings(metrics.Client).Secs().Seconds())
			run.OpsPerS += c.Claim.OpsPerS
			continue
		}
		for _, w := range c.Workers {
			if w.Rounds != nil && w.Rounds.EndS > 0 {
				run.WorkersOpsPerS += float64(w.Drawn) / w.Rounds.EndS
			}
		}
		ops, seconds := c.Within(opens.Sub(c.WindowStart).Seconds(), c.WindowEnd().Sub(closes).Seconds())
		run.Ops += ops
		run.OpsPerS += metrics.PerSecond(float64(ops), seconds)
		if c.Offered != nil {
			// The share that is achieved stays that of the client's own window.
			offered := *c.Offered
			offered.Ops = uint64(math.Round(float64(offered.Ops) * float64(ops) / float64(max(1, c.InWindow.Ops()))))
			run.Offered = cmp.Or(run.Offered, new(metrics.Offered))
			run.Offered.Add(offered)
		}
	}
}

// totalWitness fills in what kvlab's servers executed for a team's client, from its first call to
// its last; false of another run.
func totalWitness(run *metrics.Run) bool {
	first, last := int64(0), int64(0)
	for _, s := range run.Summaries(metrics.Server) {
		if w := s.Witness; w != nil && w.First > 0 {
			run.Ops += w.Gets + w.Puts
			last = max(last, w.Last)
			if first == 0 || w.First < first {
				first = w.First
			}
		}
	}
	run.OpsPerS = metrics.PerSecond(float64(run.Ops), float64(last-first)/1e9)
	return first > 0
}

// StoreCount is the operations of those kinds that a foreign store counts together.
type StoreCount struct {
	Kind               string
	Verified, Executed uint64 // by the clients, and by the store's own counters
}

// ReadKinds is the Kind of what reads.
const ReadKinds = "reads"

// StoreCounts compares what a server of a foreign store executed with what the clients
// verified; nil of a store that counts nothing.
func StoreCounts(run metrics.Run, server int) []StoreCount {
	s := run.Servers()[server].Summary
	if s == nil || s.Store == nil {
		return nil
	}
	executed, verified := s.Store.Executed(), run.VerifiedBy(server)
	return []StoreCount{
		{"writes", verified.Values(), executed.Values()},
		{"deletes", verified.Deletes, executed.Deletes},
		{ReadKinds, s.Store.Reads(verified), executed.Gets},
	}
}

// Rounds adds up the sums of a client's workers.
// MostOps is the sum of the workers' largest rounds, and AcrossS the time of the longest round.
func Rounds(client *metrics.Summary) *metrics.Rounds {
	var sums metrics.Rounds
	for _, w := range client.Workers {
		r := cmp.Or(w.Rounds, new(metrics.Rounds))
		sums.Ops += r.Ops
		sums.Rounds += r.Rounds
		sums.Calls += r.Calls
		sums.Early += r.Early
		sums.Unknown += r.Unknown
		sums.Spots += r.Spots
		sums.BusyS += r.BusyS
		sums.EarlyS += r.EarlyS
		sums.Across += r.Across
		sums.AcrossS = max(sums.AcrossS, r.AcrossS)
		sums.MostOps += r.MostOps
		sums.Offered += r.Offered
		sums.Mistaken += r.Mistaken
	}
	return &sums
}
