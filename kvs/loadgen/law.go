package loadgen

import (
	"fmt"

	"kvlab/kvs"
	"kvlab/metrics"
	"kvlab/workload"
)

// law is what the configuration predicts of the operations of all clients. A plan
// and a router of its own make it: those of the workers are what is on trial. It
// takes some 50 ms.
func (g *Generator) law() *metrics.Law {
	c := g.config
	plan, err := workload.New(c.Workload)
	if err != nil {
		return nil // New has made one of the same configuration, and a router
	}
	router, err := newRouter(c, plan)
	if err != nil {
		return nil
	}
	l := &metrics.Law{
		Name:             lawName(c.Workload),
		Records:          c.Workload.Records,
		Gets:             plan.Share(workload.Read),
		Puts:             plan.Share(workload.Update),
		ReadModifyWrites: plan.Share(workload.ReadModifyWrite),
	}
	l.Heaviest = 1
	if c.Workload.Distribution != workload.Sequential {
		l.Heaviest = plan.Mass(0)
		l.Cells, l.Spread = cells(c, plan, router)
	}
	return l
}

// lawName names the flags that decide about kinds and keys.
func lawName(c workload.Config) string {
	name := "-workload " + c.Workload
	if c.Workload == workload.Mix {
		name += fmt.Sprintf(" -reads %g", c.Reads)
	}
	switch d := c.Distribution; d {
	case "", workload.Zipfian, workload.Latest:
		if d == workload.Latest {
			name += " -distribution " + d
		}
		return name + fmt.Sprintf(" -theta %g", c.Theta)
	case workload.Hotspot:
		return name + fmt.Sprintf(" -distribution %s -hot-ops %g -hot-keys %g", d, c.HotOps, c.HotKeys)
	default:
		return name + " -distribution " + d
	}
}

// cells returns the share of each server and key group, and the variance of a
// share for want of the records past knownRanks. These fall into the cells
// independently, each with at most the popularity of the last that is known: the
// variance is that popularity times what they have together, over the cells.
func cells(c Config, plan *workload.Plan, router kvs.Router) (shares [][]float64, spread float64) {
	shares = make([][]float64, c.Servers())
	for i := range shares {
		shares[i] = make([]float64, kvs.KeyGroups)
	}
	rest, last := 1.0, 0.0
	for r := range popular(c, plan) {
		last = float64(r.share) / kvs.WholeShare
		shares[router.Server(r.key, r.hash)][kvs.KeyGroup(r.hash)] += last
		rest -= last
	}
	if c.Workload.Records <= knownRanks {
		return shares, 0
	}
	n := float64(len(shares) * kvs.KeyGroups)
	for _, groups := range shares {
		for i := range groups {
			groups[i] += rest / n
		}
	}
	return shares, rest * last / n
}
