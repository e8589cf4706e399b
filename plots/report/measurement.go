package report

import (
	"cmp"
	"fmt"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/folder"
)

// measurementPart says how a run was measured and what was checked.
func measurementPart(r *folder.Run) part {
	p := part{List: measurement(r)}
	if r.Total.Ops()+r.Applied.Ops() > 0 {
		p.Tables = []table{accountTable(r.Run)}
	} else {
		p.Notes = []string{"The run ended before the counts of clients and servers could be compared."}
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

// measurement is what was measured and checked, in the order of the run. docs/measuring.md
// explains each line.
func measurement(r *folder.Run) []string {
	lines := []string{"Nodes: " + folder.DescribeTopology(r.Run) + "."}
	add := func(line string, args ...any) { lines = append(lines, fmt.Sprintf(line, args...)) }
	flag := func(name string) string { return cmp.Or(r.Workload[name], "unknown") }
	if loaded := loadedRecords(r.Run); loaded > 0 {
		add("Load: %s records of %s bytes, each read back.", grouped(loaded), flag("value-size"))
	}
	if r.Workload["workers"] != "" {
		add("Work: %s, %s workers per client, %s, -router %s, -batch %s%s.", folder.DescribeWork(r.Workload), flag("workers"), metrics.LoopText(r.Offered, r.Ops), flag("router"), flag("batch"), perCall(r.Run))
	}
	if r.WarmUp != nil {
		add("Warm-up: %s.", r.WarmUp)
	}
	if r.WindowS > 0 {
		add("Window: %.3f s common to all clients, %.1f %% of the shortest one's.", r.WindowS, 100*r.OverlapShare)
	}
	if v := verification(r.Run); v.Checked > 0 {
		wrong := "none was wrong"
		if v.Failures > 0 {
			wrong = grouped(v.Failures) + " were wrong, first " + v.First
		}
		add("Values: %s checked, %s of them compared in full; %s. Reads that found nothing: %s.", grouped(v.Checked), grouped(v.Compared), wrong, grouped(r.Total.Misses))
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
	add("Linearizability: %s.", cmp.Or(strings.Join(checked, "; "), "not checked"))
	if r.Preflight != nil {
		for _, f := range r.Preflight.Findings {
			add("Machine finding before the run: %s.", strings.TrimSpace(f.Node+" "+f.Text))
		}
	}
	return lines
}

// loadedRecords is how many records the clients stored before the workload.
func loadedRecords(run metrics.Run) (records uint64) {
	for _, client := range run.Summaries(metrics.Client) {
		for _, peer := range client.Peers {
			records += peer.Load.Puts
		}
	}
	return records
}

// perCall is how many operations a call had on average in the window.
func perCall(run metrics.Run) string {
	sum := run.InWindow()
	if sum.Calls == 0 {
		return ""
	}
	return fmt.Sprintf(", measured %s operations a call", format.Count(sum.PerCall()))
}

// verification is what all clients checked.
func verification(run metrics.Run) (all metrics.Verification) {
	for _, client := range run.Summaries(metrics.Client) {
		all.Add(client.Verification)
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
	for _, node := range run.Clients() {
		if node.Summary == nil {
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
