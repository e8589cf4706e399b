package verdict

import (
	"fmt"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Names of reservations.
const (
	Quick   = "QUICK"          // of a run that is never ranked against others
	Crowded = "OTHER WORK"     // of one that other processes disturbed
	Drifted = "NON-STATIONARY" // of one whose rate drifted before its window

	saturated  = "SATURATED"   // of an open loop whose offered rate was not achieved
	FewRecords = "FEW RECORDS" // of a workload whose rounds repeat keys
)

// reservationsOf lists what weakens a VALID run, the gravest first.
func reservationsOf(run metrics.Run) (all []Reservation) {
	add := func(holds bool, name, do, layout string, args ...any) {
		if holds {
			all = append(all, Reservation{Name: name, Text: fmt.Sprintf(layout, args...), Do: do})
		}
	}
	add(run.Quick, Quick, "leave out --quick for a number to keep", "the run was a short look, with few records")
	add(run.Offered.Saturated(run.Ops) != "", saturated, "offer a lower -rate", "the store did not keep up: %.1f %% of the offered rate", 100*run.Offered.Achieved(run.Ops))
	// So many operations have fewer keys: by the pigeonhole principle some repeat one.
	records, round := run.Workload.Records(), run.Workload.Batch()*uint64(len(run.Servers()))
	add(records > 0 && round > records, FewRecords, "use more -records, or a smaller -batch", "a round has %d operations on %d records: its calls repeat keys", round, records)
	if c := run.Ceiling; c != nil {
		add(c.ClientBound, "CLIENT-BOUND", "use more client nodes, or larger batches", "the same clients reach only %.2fx this rate without a store", c.Headroom)
		add(c.NotUsable, "NO CEILING", "measure longer, with --secs 30", "the ceiling is too noisy: it is below the result, measured twice")
	}
	if w := run.WarmUp; w != nil {
		add(!w.Stationary, Drifted, "double -warmup", "the rate drifted by %+.1f %% in the last %d s of the warm-up", 100*w.DriftShare, w.Seconds)
	}
	if b := run.Bottleneck; b != nil {
		add(b.Kind == metrics.LimitOther, Crowded, "end it, or compare by --ab --together", "other processes took %.0f %% of the processors of %s", b.Figures.OtherCPUPercent, b.Figures.OtherCPUNode)
	}
	for _, grown := range memoryGrowth(run) {
		add(true, "MEMORY", "look for what the store keeps of each request, with --soak 30m", "%s", grown)
	}
	for _, c := range run.Checks {
		for _, row := range rows(c.ID) {
			add(c.Outcome == metrics.CheckDoubted, strings.ToUpper(c.ID), strings.TrimSuffix(row.Advice, "."), "%s", c.Evidence)
		}
	}
	if run.Restart != nil {
		add(true, "RESTARTED", "leave out --restart-at for a number to rank", "a server was killed in the window")
	} else if r := run.Retries; r != nil {
		add(true, "RETRIES", "see the clients' logs", "%s", r)
	}
	if step := run.Preflight.StepText(); step != "" {
		add(true, "CLOCK SET", "let chrony or ntpd slew", "%s", step)
	}
	all = append(all, findingsOf(run)...)
	add(run.Lab != nil, "LAB", "use a real cluster for a number to publish", "the hosts were virtual, on one machine")
	add(run.Lab == nil && oneMachine(run.Nodes), "ONE MACHINE", "use --nodes for a number to publish, or --ab to compare here", "servers and clients shared one machine")
	return all
}

// findingsOf has a reservation for each kind of warning that the preflight gave.
func findingsOf(run metrics.Run) (all []Reservation) {
	if run.Preflight == nil {
		return nil
	}
	nodes := map[string]int{} // with a finding of the kind
	for _, f := range run.Preflight.Findings {
		if nodes[f.Fact]++; nodes[f.Fact] > 1 {
			continue
		}
		do := "see docs/cluster.md"
		if f.Type != "" {
			do = "type " + f.Type
		}
		all = append(all, Reservation{Name: f.Fact, Text: format.OneLine(strings.Join(format.NonEmpty(f.Node, f.Text), ": ")), Do: do})
	}
	for i, r := range all {
		if n := nodes[r.Name]; n > 1 {
			all[i].Text += fmt.Sprintf(", and likewise on %s", format.Plural(n-1, "other node"))
		}
	}
	return all
}

// oneMachine reports whether all of several nodes say that they were on the same
// machine.
func oneMachine(nodes []metrics.RunNode) bool {
	return len(nodes) > 1 && !slices.ContainsFunc(nodes, func(node metrics.RunNode) bool {
		return node.Config == nil || elsewhere(node) || node.Config.Host.Hostname == "" || node.Config.Host.Hostname != nodes[0].Config.Host.Hostname
	})
}
