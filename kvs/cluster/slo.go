package cluster

import (
	"context"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/experiment"
	"kvlab/metrics"
)

// searchSLO carries out a search for the highest rate that keeps a promise.
func (l *Launcher) searchSLO(ctx context.Context, cfg Config, found []nodes.Node, args []string) error {
	plan := metrics.Sweep{Started: time.Now(), Command: commandLine(args), GitCommit: l.commit(ctx), Trials: 1, Lab: cfg.lab()}
	r := &resolver{programs: l.Programs, flags: l.flags, root: l.Root, commit: plan.GitCommit, cfg: cfg, nodes: found}
	s := &series{l: l, kind: experiment.Search{SLO: *cfg.Trials.SLO, Plan: plan}, resolver: r, command: plan.Command, draws: true}
	if only, err := s.prepare(ctx, cfg); only || err != nil {
		return err
	}
	var err error
	if plan.Programs, err = l.Programs.Sums(); err != nil {
		return err
	}
	if s.dir, err = createFolder(cfg.Out, plan.Started); err != nil {
		return &UsageError{err}
	}
	plan.ID = s.dir.id()
	s.kind = experiment.Search{SLO: *cfg.Trials.SLO, Plan: plan}
	return s.run(ctx, nil)
}
