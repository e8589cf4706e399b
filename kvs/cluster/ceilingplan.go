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

// workOf asks the programs for the settings that a plan's arguments give.
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
		Engine: server.Engine, Servers: uint64(plan.Count(metrics.Server)), Dedup: client.Dedup, Window: max(client.Window, 0),
		Records: client.Records, ValueBytes: client.ValueSize,
	}, nil
}

// overlaid is the plan with the changes of a ceiling, if every machine has room for
// its clients' stores.
func overlaid(p plan.Plan, o experiment.Overlay, preflight *metrics.Preflight) (plan.Plan, error) {
	if o.Impossible != nil {
		return p, o.Impossible
	}
	p.ServerArgs = changed(p.ServerArgs, o.Server)
	p.ClientArgs = changed(p.ClientArgs, o.Client)
	if o.NoServers {
		isServer := func(p plan.Place) bool { return p.Role == metrics.Server }
		p.Places, p.ServerArgs = slices.DeleteFunc(slices.Clone(p.Places), isServer), nil
	}
	return p, fits(o.StoreBytes, preflight)
}

// changed is a command line with other flags.
func changed(args []string, f experiment.Flags) []string {
	return append(without(args, f.Drop...), f.Add...)
}

// fits says whether every machine has room for its clients' stores, in half of the
// memory that it has to spare.
func fits(bytes uint64, preflight *metrics.Preflight) error {
	if preflight == nil {
		return nil
	}
	for _, m := range preflight.Machines {
		if m.Facts == nil {
			continue
		}
		clients := uint64(0)
		for _, role := range m.Roles {
			if role == metrics.Client {
				clients++
			}
		}
		if free := m.Facts.Host.MemoryAvailableBytes; clients*bytes > free/2 {
			return fmt.Errorf("%s of stores on %s, of which %s are free", format.Bytes(clients*bytes), m.Name(), format.Bytes(free))
		}
	}
	return nil
}

// without takes flags and their values off a command line.
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
