package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/preflight"
	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/cluster/trial"
)

// preflight is --preflight: the preflight alone, with its whole table, or as JSON.
func (l *Launcher) preflight(ctx context.Context, at configuration) error {
	runner, err := l.runner(at.cfg, at.programs)
	if err != nil {
		return err
	}
	p, err := preflight.Run(ctx, l.target(at, runner))
	if errors.Is(err, plan.ErrInterrupted) {
		return plan.ErrInterrupted
	}
	if err != nil && p.Machines == nil {
		return explain(ctx, at.plan.Source(), err)
	}
	text := []byte(preflight.Table(p))
	if at.cfg.JSON {
		var jsonErr error
		if text, jsonErr = json.MarshalIndent(p, "", "  "); jsonErr != nil {
			return jsonErr
		}
		text = append(text, '\n')
	}
	if _, err := l.Stdout.Write(text); err != nil {
		return err
	}
	if err == nil {
		return nil
	}
	verdict := trial.VerdictOf(explain(ctx, at.plan.Source(), err))
	if !at.cfg.JSON {
		fmt.Fprintf(l.Stdout, "verdict %s\n", verdict)
	}
	return invalid(verdict, err)
}

// target is what a configuration's preflight looks at.
func (l *Launcher) target(at configuration, runner *remote.Runner) preflight.Target {
	return preflight.Target{Plan: at.plan, Programs: at.programs, Runner: runner, Out: at.cfg.Out, Leave: l.timeouts.Leave}
}
