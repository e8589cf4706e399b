package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/experiment"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// workOf asks the programs for the work that a plan's arguments describe.
func workOf(ctx context.Context, p plan.Programs, plan plan.Plan) (experiment.Work, error) {
	server, err := p.Settings(ctx, metrics.Server, plan.ServerArgs)
	if err != nil {
		return experiment.Work{}, err
	}
	client, err := p.Settings(ctx, metrics.Client, plan.ClientArgs)
	if err != nil {
		return experiment.Work{}, err
	}
	return experiment.Work{
		Engine: server.Engine, Servers: uint64(plan.Count(metrics.Server)), Dedup: client.Dedup, AutoBatch: client.AutoBatch, Window: max(client.Window, 0),
		Records: client.Records, ValueBytes: client.ValueSize,
	}, nil
}

// overlaid returns the plan with a ceiling's changes, or an error if a machine has no
// room for its clients' stores.
func overlaid(p plan.Plan, o experiment.Overlay, preflight *metrics.Preflight) (plan.Plan, error) {
	if o.Impossible != nil {
		return p, o.Impossible
	}
	p.ServerArgs = append(without(p.ServerArgs, o.Server.Drop...), o.Server.Add...)
	p.ClientArgs = append(without(p.ClientArgs, o.Client.Drop...), o.Client.Add...)
	if o.NoServers {
		isServer := func(p plan.Place) bool { return p.Role == metrics.Server }
		p.Places, p.ServerArgs = slices.DeleteFunc(slices.Clone(p.Places), isServer), nil
	}
	return p, fits(o.StoreBytes, preflight)
}

// fits returns an error if the stores of a machine's clients take more than half of its
// available memory.
func fits(bytes uint64, preflight *metrics.Preflight) error {
	if preflight == nil {
		return nil
	}
	for _, m := range preflight.Machines {
		if m.Facts == nil {
			continue
		}
		isServer := func(role metrics.Role) bool { return role == metrics.Server }
		clients := uint64(len(slices.DeleteFunc(slices.Clone(m.Roles), isServer)))
		if free := m.Facts.Host.MemoryAvailableBytes; clients*bytes > free/2 {
			return fmt.Errorf("%s of stores on %s, of which %s are free", format.Bytes(clients*bytes), m.Name(), format.Bytes(free))
		}
	}
	return nil
}

// without returns a command line without some flags and their values.
func without(args []string, flags ...string) []string {
	var rest []string
	for i := 0; i < len(args); i++ {
		switch name, _, joined := strings.Cut(strings.TrimLeft(args[i], "-"), "="); {
		case !strings.HasPrefix(args[i], "-") || !slices.Contains(flags, name):
			rest = append(rest, args[i])
		case !joined:
			i++
		}
	}
	return rest
}
