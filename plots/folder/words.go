package folder

import (
	"fmt"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Describe is a run in one line: work, nodes, window, result, verdict.
func (r *Run) Describe() string {
	var parts []string
	if work := DescribeWork(r.Workload); work != "" {
		parts = append(parts, work)
	}
	parts = append(parts, DescribeTopology(r.Run))
	if r.Lab != nil {
		parts = append(parts, r.Lab.String())
	}
	if r.WindowS > 0 {
		parts = append(parts, fmt.Sprintf("%s s window", format.Tenths(r.WindowS)))
	}
	if r.Offered != nil {
		offered := *r.Offered
		offered.PeakOpsPerS = 0 // it does not fit
		parts = append(parts, "open loop, "+offered.String())
	}
	parts = append(parts, ResultOf(r.Run))
	if r.Verdict.Valid {
		parts = append(parts, "VALID")
	} else {
		parts = append(parts, "INVALID")
	}
	if r.WarmUp != nil && !r.WarmUp.Stationary {
		parts = append(parts, "NON-STATIONARY")
	}
	if r.Ceiling != nil && r.Ceiling.ClientBound {
		parts = append(parts, "CLIENT-BOUND")
	}
	if r.ID != "" {
		parts = append(parts, "run "+r.ID)
	}
	return format.Label(strings.Join(parts, " · "), 300)
}

// ResultOf is a run's throughput, or "no result".
func ResultOf(run metrics.Run) string {
	if run.WindowS <= 0 {
		return "no result"
	}
	return format.Count(run.OpsPerS) + " ops/s"
}

// DescribeWork is the workload in a few words.
func DescribeWork(flags map[string]string) string {
	work := flags["workload"]
	if theta := flags["theta"]; theta != "" {
		work += " theta " + theta
	}
	if flags["tls"] == "true" {
		work += " TLS"
	}
	return strings.TrimSpace(work)
}

// DescribeTopology is "2 servers + 2 clients, symmetric on 2 nodes".
func DescribeTopology(run metrics.Run) string {
	text := describeNodes(run.Count(metrics.Server), run.Count(metrics.Client))
	machines := run.Machines()
	nodes := format.Plural(machines, "node")
	switch {
	case run.Symmetric:
		return text + ", symmetric on " + nodes
	case machines < len(run.Nodes):
		return text + " on " + nodes
	}
	return text
}

// describeNodes is "2 servers + 1 client".
func describeNodes(servers, clients int) string {
	return format.Plural(servers, "server") + " + " + format.Plural(clients, "client")
}

// InvalidReason is why a run is not valid, and where.
func InvalidReason(v metrics.Verdict) string {
	reason := v.Reason
	if reason == "" {
		reason = "no reason was recorded"
	}
	if v.Node != "" {
		reason += " (" + v.Node + ")"
	}
	return reason
}
