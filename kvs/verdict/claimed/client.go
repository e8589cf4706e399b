package claimed

import (
	"slices"
	"strconv"

	"kvlab/kvs/verdict/witness"
	"kvlab/kvs/verdict/work"
	"kvlab/metrics"
)

// judgeClient returns the verdict on a team's own client by what kvlab's servers saw.
func judgeClient(run *metrics.Run) metrics.Verdict {
	claims, servers := seen(*run)
	for _, node := range run.Nodes {
		if node.Summary == nil || node.Role == metrics.Client && node.Summary.Claim == nil || node.Role == metrics.Server && node.Summary.Witness == nil {
			run.Checks = []metrics.CheckResult{found(metrics.CheckFailed, node.Name, "%s sent no summary of what it saw", node.Role)}
			run.Checks[0].ID = Checks[0].ID
			return metrics.Verdict{Check: Checks[0].ID, Node: node.Name, Reason: run.Checks[0].Evidence}
		}
	}
	asked, err := askedOf(*run)
	if err != nil {
		return metrics.Verdict{Check: Checks[0].ID, Reason: err.Error()}
	}
	lines := checkLines(systemOf(run))
	if lines.ID = Checks[1].ID; lines.Outcome == metrics.CheckFailed && claims[0].Result == "" {
		lines.Outcome = metrics.CheckDoubted // what the servers saw stands without a claim
	}
	run.Checks = slices.Insert(witness.Judge(claims, servers, asked), 1, lines)
	if reached := &run.Checks[0]; reached.Outcome == metrics.CheckFailed && reached.Node == "" {
		for _, node := range run.Clients() {
			reached.Evidence += "; " + ended(node)
		}
	}
	for _, c := range run.Checks {
		if c.Outcome == metrics.CheckFailed {
			return metrics.Verdict{Check: c.ID, Node: c.Node, Reason: c.Evidence}
		}
	}
	return metrics.Verdict{Valid: true}
}

// seen returns what the clients claim, and what kvlab's servers saw of them.
func seen(run metrics.Run) (claims []metrics.Claimed, servers []witness.Server) {
	for _, s := range run.Summaries(metrics.Client) {
		if s.Claim != nil {
			claims = append(claims, *s.Claim)
		}
	}
	for _, node := range run.Servers() {
		if node.Summary != nil && node.Summary.Witness != nil {
			servers = append(servers, witness.Server{Node: node.Name, Witness: node.Summary.Witness})
		}
	}
	return claims, servers
}

// The names that the course's clients give to the settings that the judge reads.
var (
	workers = []string{"workers", "numClients", "connections", "host_generators", "thrds-per-host", "generators", "threads"}
	batches = []string{"batch", "batchSize", "batch_size", "batch-size"}
)

// askedOf returns what the launcher asked of the clients, as far as their settings tell.
func askedOf(run metrics.Run) (asked witness.Asked, err error) {
	settings := run.Settings(metrics.Client)
	first := func(names []string) int {
		for _, name := range names {
			if n, err := strconv.Atoi(settings[name]); err == nil {
				return n
			}
		}
		return 0
	}
	asked = witness.Asked{Secs: max(0, settings.Secs().Seconds()), Clients: run.Count(metrics.Client), Workers: first(workers), Batch: first(batches)}
	flags := map[string]string{}
	for _, name := range []string{"workload", "theta", "records", "seed"} {
		flags[name] = settings[name]
	}
	asked.Workload, _, _, err = work.Of(flags)
	return asked, err
}
