package plots

import (
	"fmt"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// runFigure is a figure of one run with its words and no panels yet.
func runFigure(r *Run, name, title string) Figure {
	f := Figure{Name: name, Title: title, Subtitle: describeRun(r)}
	if !r.Verdict.Valid {
		f.Alarm = "INVALID: " + label(invalidReason(r.Verdict), 300)
	}
	return f
}

// describeRun is a run in one line: work, nodes, window, result, verdict.
func describeRun(r *Run) string {
	var parts []string
	if work := describeWork(r.Workload); work != "" {
		parts = append(parts, work)
	}
	parts = append(parts, describeTopology(r.Run))
	if r.Lab != nil {
		parts = append(parts, r.Lab.String())
	}
	if r.WindowS > 0 {
		parts = append(parts, fmt.Sprintf("%s s window", tenths(r.WindowS)))
	}
	if r.Offered != nil {
		offered := *r.Offered
		offered.PeakOpsPerS = 0 // there is no room for it
		parts = append(parts, "open loop, "+offered.String())
	}
	parts = append(parts, resultOf(r.Run))
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
	return label(strings.Join(parts, " · "), 300)
}

// resultOf is a run's throughput, or that it has none.
func resultOf(run metrics.Run) string {
	if run.WindowS <= 0 {
		return "no result"
	}
	return format.Count(run.OpsPerS) + " ops/s"
}

// describeWork is the workload in a few words.
func describeWork(flags map[string]string) string {
	work := flags["workload"]
	if theta := flags["theta"]; theta != "" {
		work += " theta " + theta
	}
	if flags["tls"] == "true" {
		work += " TLS"
	}
	return strings.TrimSpace(work)
}

// describeTopology is "2 servers + 2 clients, symmetric on 2 nodes".
func describeTopology(run metrics.Run) string {
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

// invalidReason is why a run is not valid, and where.
func invalidReason(v metrics.Verdict) string {
	reason := v.Reason
	if reason == "" {
		reason = "no reason was recorded"
	}
	if v.Node != "" {
		reason += " (" + v.Node + ")"
	}
	return reason
}
