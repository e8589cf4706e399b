// Package folder reads run folders and sweep folders: their records and summaries,
// and values over time.
//
// Nodes are lined up by the wall clock of their records: second 0 is the start of
// the run's common window.
package folder

import (
	"cmp"
	"fmt"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/account"
	"kvlab/metrics/latency"
)

// Run is one run folder in memory. It is read-only after Load.
type Run struct {
	metrics.Run
	Logs      []Log        // one per node, servers first, in run.json's order
	Latencies *latency.Set // of the window, added up over clients; empty when there are none
	Missing   []string     // what an aborted run did not write, for people
	Dir       string       // the folder
}

// Log is one node's .jsonl file over time, in at most maxPoints samples of each kind.
type Log struct {
	Node      string
	Role      metrics.Role
	Intervals []Sample
	Usages    []Sample
	intervals track // that Intervals come from
	usages    track
	account.Reported
}

// sortLogs puts servers first and nodes in run.json's order.
func (r *Run) sortLogs() {
	place := map[string]int{}
	for i, node := range r.Nodes {
		place[node.Name] = i + 1
	}
	slices.SortStableFunc(r.Logs, func(a, b Log) int {
		return cmp.Or(
			-cmp.Compare(a.Role, b.Role), // "server" after "client"
			cmp.Compare(place[a.Node], place[b.Node]),
		)
	})
}

// describe fills in a run without run.json from its logs.
func (r *Run) describe() {
	r.Verdict = metrics.Verdict{Reason: "the run did not end: there is no run.json"}
	if r.HasLatencies() {
		r.Run.Latency = r.Latencies.Quantiles()
	}
	for _, log := range r.Logs {
		r.Nodes = append(r.Nodes, metrics.RunNode{
			Name: log.Node, Role: log.Role, Config: log.Config, Summary: log.Summary,
		})
		if r.Workload == nil && log.Role == metrics.Client && log.Config != nil {
			r.Workload = log.Config.Flags
		}
	}
}

// HasLatencies reports whether a call was timed in the window.
func (r *Run) HasLatencies() bool { return r.Latencies.Call.TotalCount() > 0 }

// IsSoak reports whether the run was a soak.
func (r *Run) IsSoak() bool {
	return slices.ContainsFunc(r.Nodes, func(node metrics.RunNode) bool { return node.Soak != nil })
}

// Machine is the hardware and the program of one node, or of several that are alike.
type Machine struct {
	metrics.Host        // without what differs between machines that are alike
	Binary       string // the digest of the node's program
	Nodes        []string
}

// Hardware lists the machines of the nodes.
func Hardware(nodes []metrics.RunNode) []Machine {
	var all []Machine
	for _, node := range nodes {
		if node.Config == nil {
			continue
		}
		host, binary := node.Config.Host, node.Config.Binary
		host.Hostname, host.MemoryAvailableBytes = "", 0
		i := slices.IndexFunc(all, func(m Machine) bool { return m.Host == host && m.Binary == binary })
		if i < 0 {
			i = len(all)
			all = append(all, Machine{Host: host, Binary: binary})
		}
		all[i].Nodes = append(all[i].Nodes, fmt.Sprintf("%s (%s)", node.Name, node.Config.Host.Hostname))
	}
	return all
}

// Memory returns the size of the machine's memory, for people.
func (m Machine) Memory() string {
	return fmt.Sprintf("%.1f GiB", float64(m.MemoryTotalBytes)/(1<<30))
}
