package cluster

import (
	"context"
	"errors"
	"fmt"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/preflight"
	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/cluster/trial"
)

// preflight runs the preflight alone, and prints its whole table. A view takes the
// table's place; if the preflight fails, the table follows it.
func (l *Launcher) preflight(ctx context.Context, at configuration) error {
	p, err := preflight.Run(ctx, l.target(at, l.runner(at)))
	err = explain(ctx, l.Slurm, at.plan, err)
	if errors.Is(err, plan.ErrInterrupted) || err != nil && p.Machines == nil {
		return err
	}
	l.document.Found(p)
	if at.cfg.view != nil {
		fmt.Fprint(l.Stdout, at.cfg.view(p))
	}
	if at.cfg.view == nil || err != nil {
		fmt.Fprint(l.Stdout, preflight.Table(p))
	}
	if err == nil {
		return nil
	}
	verdict := trial.VerdictOf(err)
	fmt.Fprintf(l.Stdout, "verdict %s\n", verdict)
	return invalid(verdict, err)
}

// target returns what a configuration's preflight looks at.
func (l *Launcher) target(at configuration, runner *remote.Runner) preflight.Target {
	return preflight.Target{Plan: at.plan, Needs: at.plan.Needs(at.settings), Runner: runner, Out: at.cfg.Out, Leave: l.timeouts.Leave}
}

// reap ends the processes that earlier runs of this user left on the nodes, and
// prints them.
func (l *Launcher) reap(ctx context.Context, cfg Config) error {
	found, err := l.nodes(ctx, cfg)
	if err != nil {
		return usage(err)
	}
	if len(found) == 0 {
		found = []nodes.Node{{Name: "this machine"}}
	}
	r := l.runner(configuration{cfg: cfg, programs: l.Programs})
	ended, errs := make([][]string, len(found)), make([]error, len(found))
	remote.Each(len(found), remote.Parallel, func(i int) { ended[i], errs[i] = r.Reap(ctx, found[i]) })
	for i, node := range found {
		if len(ended[i]) == 0 {
			ended[i] = []string{"ended nothing"}
		}
		for _, line := range ended[i] {
			fmt.Fprintf(l.Stdout, "%s: %s\n", node.Name, line)
		}
	}
	return errors.Join(errs...)
}
