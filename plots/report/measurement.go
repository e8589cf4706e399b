package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/folder"
)

// measurementSection says how a run was measured and what was checked.
func measurementSection(r *folder.Run) section {
	s := section{ID: "method", Title: "How it was measured", List: measurement(r)}
	if r.Total.Ops()+r.Applied.Ops() > 0 {
		s.Run = r
	} else {
		s.Notes = []string{"The run ended before the counts of clients and servers could be compared."}
	}
	t, pairs := disagreements(r.Run)
	switch {
	case len(t.Rows) > 0:
		s.Tables = append(s.Tables, t)
	case pairs == 1:
		s.Notes = append(s.Notes, "The one client-server pair agrees, per kind of operation.")
	case pairs > 1:
		s.Notes = append(s.Notes, fmt.Sprintf("All %d client-server pairs agree, per kind of operation.", pairs))
	}
	return s
}

// measurement lists what was measured and checked, in the order of the run.
// docs/measuring.md explains each line.
func measurement(r *folder.Run) []string {
	lines := []string{"Nodes: " + folder.DescribeTopology(r.Run) + "."}
	add := func(line string, args ...any) { lines = append(lines, fmt.Sprintf(line, args...)) }
	flag := func(name string) string { return cmp.Or(r.Workload[name], "unknown") }
	loaded, values := sumClients(r.Run)
	if loaded > 0 {
		add("Load: %s records of %s bytes, each read back.", grouped(loaded), flag("value-size"))
	}
	if r.Workload["workers"] != "" {
		perCall := ""
		if window := r.InWindow(); window.Calls > 0 {
			perCall = fmt.Sprintf(", measured %s operations a call", format.Count(window.PerCall()))
		}
		add("Work: %s, %s workers per client, %s, -router %s, -batch %s%s.", folder.DescribeWork(r.Workload), flag("workers"), metrics.LoopText(r.Offered, r.Ops), flag("router"), flag("batch"), perCall)
	}
	if r.WarmUp != nil {
		add("Warm-up: %s.", r.WarmUp)
	}
	if r.WindowS > 0 {
		add("Window: %.3f s common to all clients, %.1f %% of the shortest one's.", r.WindowS, 100*r.OverlapShare)
	}
	if values.Checked > 0 {
		wrong := "none was wrong"
		if values.Failures > 0 {
			wrong = grouped(values.Failures) + " were wrong, first " + values.First
		}
		add("Values: %s checked, %s of them compared in full; %s. Reads that found nothing: %s.", grouped(values.Checked), grouped(values.Compared), wrong, grouped(r.Total.Misses))
	}
	add("Linearizability: %s.", cmp.Or(strings.Join(linearizability(r), "; "), "not checked"))
	if r.Preflight != nil {
		for _, f := range r.Preflight.Findings {
			add("Machine finding before the run: %s.", strings.TrimSpace(f.Node+" "+f.Text))
		}
	}
	return lines
}

// linearizability lists the results of the linearizability checks.
func linearizability(r *folder.Run) (checked []string) {
	for _, node := range r.Nodes {
		if node.Summary != nil && node.Summary.Check != nil {
			checked = append(checked, "by "+node.Name+", "+node.Summary.Check.Text())
		}
	}
	if r.Check != nil {
		checked = append(checked, "by all clients together, "+r.Check.Text())
	}
	return checked
}

// sumClients adds up what all clients loaded and checked.
func sumClients(run metrics.Run) (loaded uint64, values metrics.Verification) {
	for _, client := range run.Summaries(metrics.Client) {
		for _, peer := range client.Peers {
			loaded += peer.Load.Puts
		}
		values.Add(client.Verification)
	}
	return loaded, values
}

// kindCount is the operations of a kind that clients verified and that servers applied.
type kindCount struct {
	Kind              string
	Verified, Applied uint64
}

// countsOf compares the operations that clients verified with those that servers
// applied, per kind and in all.
func countsOf(run metrics.Run) (all []kindCount) {
	total, applied := run.Total.ByKind(), run.Applied.ByKind()
	for kind, name := range metrics.KindNames {
		all = append(all, kindCount{name, total[kind], applied[kind]})
	}
	return append(all, kindCount{"all", run.Total.Ops(), run.Applied.Ops()})
}

// disagreements lists the client-server pairs whose counts differ, and returns the
// number of pairs compared.
func disagreements(run metrics.Run) (t table, pairs int) {
	client, server := map[string]metrics.Counts{}, map[string]metrics.Counts{} // by "client at server"
	for _, node := range run.Nodes {
		if node.Summary == nil {
			continue
		}
		for _, peer := range node.Summary.Peers {
			counts, name := client, node.Name+" at "+peer.Peer
			if node.Role == metrics.Server {
				counts, name = server, peer.Peer+" at "+node.Name
			}
			counts[name] = counts[name].Add(peer.Counts)
		}
	}
	all := maps.Clone(client)
	maps.Copy(all, server)
	t = table{Columns: []string{"client at server", "verified by the client", "applied by the server"}, Names: []int{0}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if client[name].ByKind() != server[name].ByKind() {
			t.add(name, grouped(client[name].Ops()), grouped(server[name].Ops()))
		}
	}
	t.Caption = fmt.Sprintf("%d of %d client-server pairs do not agree", len(t.Rows), len(all))
	return t, len(all)
}
