package loadgen

import (
	"fmt"

	"kvlab/metrics"
	"kvlab/workload"
)

// law is what the configuration predicts of the operations of all clients. A plan
// and a router of its own make it: those of the workers are what is on trial. It
// takes some 0.2 s.
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
	l.Heaviest, l.Router = 1, c.Router
	if c.Workload.Distribution != workload.Sequential {
		l.Heaviest = plan.Mass(0)
		places := newPlaces(c, plan, router)
		l.Cells, l.Spread = places.groups(c)
		l.Head = places.head(c, plan)
		l.Balances = places.balances(c.Servers(), l.Heaviest)
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
