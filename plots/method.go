package plots

import (
	"cmp"
	"fmt"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// methodPart says how a run was measured, and what was checked.
func methodPart(r *Run) part {
	p := part{List: method(r)}
	if r.Total.Ops()+r.Applied.Ops() > 0 {
		p.Tables = []table{accountTable(r.Run)}
	} else {
		p.Notes = []string{"The run did not come as far as to compare what clients verified with what servers applied."}
	}
	rows, pairs := disagreements(r.Run)
	switch {
	case len(rows) > 0:
		t := table{Caption: fmt.Sprintf("%d of %d client-server pairs do not agree", len(rows), pairs),
			Columns: []string{"client at server", "verified by the client", "applied by the server"}, Names: []int{0}}
		for _, row := range rows {
			t.add(row.What, grouped(row.Client), grouped(row.Applied))
		}
		p.Tables = append(p.Tables, t)
	case pairs == 1:
		p.Notes = append(p.Notes, "The one client-server pair agrees, per kind of operation.")
	case pairs > 1:
		p.Notes = append(p.Notes, fmt.Sprintf("All %d client-server pairs agree, per kind of operation.", pairs))
	}
	if t := verifiedTable(r.Run); len(t.Rows) > 0 {
		p.Tables = append(p.Tables, t)
	}
	return p
}

// method is the run's steps in their order, a sentence or two each.
func method(r *Run) []string {
	steps := []string{"Nodes: " + describeTopology(r.Run) + "; every process was started for this run."}
	flag := func(name string) string { return r.Workload[name] }
	if loaded := loadedRecords(r.Run); loaded > 0 {
		steps = append(steps, fmt.Sprintf("Load: %s records of %s bytes were stored, and each was read back, before anything was measured.",
			grouped(loaded), cmp.Or(flag("value-size"), "unknown")))
	}
	if flag("workers") != "" {
		steps = append(steps, fmt.Sprintf("Load generation: %s workers for each client, %s. A worker draws operations (%s), puts each into the batch of the server that owns its key (-router %s), sends all batches of a round at once, and waits for their replies; -batch %s%s. Operations of one worker on one key are sent, applied and answered in the order in which it drew them.",
			flag("workers"), metrics.LoopText(r.Offered, r.Ops), describeWork(r.Workload), cmp.Or(flag("router"), "unknown"), flag("batch"), perCall(r.Run)))
	}
	if r.WarmUp != nil {
		steps = append(steps, "Warm-up: "+r.WarmUp.String()+".")
	}
	if r.WindowS > 0 {
		steps = append(steps, fmt.Sprintf("Window: %.3f s common to all clients, %.1f %% of the shortest one's. Only operations whose replies came in the window and were verified count.", r.WindowS, 100*r.OverlapShare))
	}
	if v := verification(r.Run); v.Checked > 0 {
		steps = append(steps, fmt.Sprintf("Checks: the length and header of all %s values read were checked against the key that was asked for, and %s of them were compared in full: %s. Reads that found nothing: %s.",
			grouped(v.Checked), grouped(v.Compared), failures(v), grouped(r.Total.Misses)))
	}
	var checked []string
	for _, node := range r.Nodes {
		if node.Summary != nil && node.Summary.Check != nil {
			checked = append(checked, "by "+node.Name+", "+node.Summary.Check.Text())
		}
	}
	if r.Check != nil {
		checked = append(checked, "by all clients together, "+r.Check.Text())
	}
	if len(checked) == 0 {
		checked = []string{"not checked in this run; -check in the clients' arguments does"}
	}
	steps = append(steps, "Linearizability: "+strings.Join(checked, "; ")+".")
	steps = append(steps, "Latency: an HdrHistogram of each worker, added up over workers and clients; percentiles are never averaged, and those that too few calls support are n/a.",
		"Usage: /proc of every node, once a second.")
	if r.Preflight != nil && len(r.Preflight.Findings) > 0 {
		var findings []string
		for _, f := range r.Preflight.Findings {
			findings = append(findings, strings.TrimSpace(f.Node+" "+f.Text))
		}
		steps = append(steps, "The machines before the run, not as they should be: "+strings.Join(findings, "; ")+".")
	}
	return steps
}

// failures is how many values were wrong.
func failures(v metrics.Verification) string {
	if v.Failures == 0 {
		return "none was wrong"
	}
	return grouped(v.Failures) + " were wrong, first " + v.First
}

// loadedRecords is how many records the clients stored before the workload.
func loadedRecords(run metrics.Run) (records uint64) {
	for _, node := range run.Nodes {
		if node.Role != metrics.Client || node.Summary == nil {
			continue
		}
		for _, peer := range node.Summary.Peers {
			records += peer.Load.Puts
		}
	}
	return records
}

// perCall is how many operations a call had on average in the window.
func perCall(run metrics.Run) string {
	var sum metrics.Counts
	for _, node := range run.Nodes {
		if node.Role == metrics.Client && node.Summary != nil {
			sum = sum.Add(node.Summary.InWindow)
		}
	}
	if sum.Calls == 0 {
		return ""
	}
	return fmt.Sprintf(", measured %s operations a call", format.Count(sum.PerCall()))
}

// verification is what all clients checked.
func verification(run metrics.Run) (all metrics.Verification) {
	for _, node := range run.Nodes {
		if node.Role == metrics.Client && node.Summary != nil {
			all.Add(node.Summary.Verification)
		}
	}
	return all
}

// accountTable compares what clients verified with what servers applied.
func accountTable(run metrics.Run) table {
	t := table{Caption: "Exact counts, from load to drain", Columns: []string{"operations", "verified by clients", "applied by servers", "equal"}, Names: []int{0}}
	for _, account := range accounts(run) {
		equal := cell{"NO", "bad"}
		if account.Equal() {
			equal = cell{"yes", "good"}
		}
		t.Rows = append(t.Rows, row{Cells: append(cells(account.What, grouped(account.Client), grouped(account.Applied)), equal)})
	}
	return t
}

// verifiedTable is what each client checked.
func verifiedTable(run metrics.Run) table {
	t := table{Caption: "Values checked", Columns: []string{"client", "values checked", "of these compared in full", "failures"}, Names: []int{0}}
	for _, node := range run.Nodes {
		if node.Role != metrics.Client || node.Summary == nil {
			continue
		}
		v := node.Summary.Verification
		wrong := cell{Text: grouped(v.Failures)}
		if v.Failures > 0 {
			wrong = cell{grouped(v.Failures) + ": " + v.First, "bad"}
		}
		t.Rows = append(t.Rows, row{Cells: append(cells(node.Name, grouped(v.Checked), grouped(v.Compared)), wrong)})
	}
	return t
}
