// Package recorded reads what a run's clients recorded and verified.
package recorded

import (
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Of sums what the clients verified, each alone and all together, with -serializable or with
// -linearizable. A fault is not "", and names the node, or none if it is of all together.
func Of(run *metrics.Run, serial bool) (all metrics.Check, node, fault string) {
	all.Serial = serial
	for _, client := range run.Clients() {
		if client.Summary == nil || client.Summary.Check == nil || client.Summary.Check.Serial != serial {
			continue
		}
		c := client.Summary.Check
		if c.Fault() != "" {
			return all, client.Name, format.OneLine(c.Fault())
		}
		all.Ops, all.Keys = all.Ops+c.Ops, max(all.Keys, c.Keys)
	}
	if c := run.Check; c != nil && c.Serial == serial {
		all.Ops, fault = all.Ops+c.Ops, format.OneLine(c.Fault())
	}
	return all, "", fault
}

// Right says what was verified and is right.
func Right(all metrics.Check) string {
	n := format.Count(float64(all.Ops))
	if all.Serial {
		return "strictly serializable: " + n + " transactions on " + format.Plural(all.Keys, "key")
	}
	return n + " operations linearizable"
}
