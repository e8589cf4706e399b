package cluster

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/experiment"
	"kvlab/kvs/verdict"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

func (c *Config) ceilingFlags(fs *flag.FlagSet) {
	fs.BoolVar(&c.NoCeiling, "no-ceiling", false, "do not measure first what the clients and the network could do with a store that costs nothing, which takes some seconds")
}

// ceilings are what has been measured since the launcher began, by programs and plan:
// trials that differ in nothing that a ceiling depends on share it.
type ceilings map[string]reached

// reached is what a ceiling's run came to: a rate, or why there is none.
type reached struct {
	opsPerS float64
	why     error
}

// measureCeiling measures the ceiling of a plan, on nodes that the preflight has
// found fit, before the plan itself is carried out. It is nil for a run that is a
// ceiling itself. What goes wrong is said in the result and fails nothing; the only
// error is the end of ctx.
func (l *Launcher) measureCeiling(ctx context.Context, at configuration, own trialOptions, c *conductor, dir folder) (*metrics.Ceiling, error) {
	if at.cfg.NoCeiling {
		return &metrics.Ceiling{Note: "--no-ceiling"}, nil
	}
	if own.barrier != nil {
		return &metrics.Ceiling{Note: "another trial was made at the same time"}, nil
	}
	work, err := workOf(ctx, at.programs, at.plan)
	if err != nil {
		return &metrics.Ceiling{Note: format.OneLine(err.Error())}, ctx.Err()
	}
	if work.Engine == experiment.NullEngine {
		return nil, nil
	}
	kinds := work.Ceilings()
	runner := experiment.Runner{Next: kinds, Keep: func([]experiment.Trial) error { return nil }}
	runner.Make = func(ctx context.Context, group experiment.Group) ([]experiment.Trial, error) {
		r := l.reach(ctx, kinds[group[0].Number-1], at, own, c, dir)
		trial := metrics.Trial{OpsPerS: r.opsPerS, Verdict: metrics.Verdict{Valid: r.why == nil}}
		if r.why != nil {
			trial.Verdict.Reason = r.why.Error()
		}
		return []experiment.Trial{{Trial: trial}}, nil
	}
	done, err := runner.Run(ctx, nil)
	return kinds.Conclude(done), cmp.Or(ctx.Err(), err)
}

// reach measures one ceiling of a plan, unless that has been done.
func (l *Launcher) reach(ctx context.Context, kind experiment.Overlay, at configuration, own trialOptions, trial *conductor, dir folder) (r reached) {
	var plan plan.Plan
	plan, r.why = overlaid(at.plan, kind, trial.preflight)
	if r.why == nil {
		r.why = ctx.Err()
	}
	if r.why != nil {
		return r
	}
	key := fmt.Sprintf("%v %+v", at.programs, plan)
	if known, ok := l.ceilings[key]; ok {
		return known
	}
	plan.ClientArgs = slices.Concat(plan.ClientArgs, kind.Lengths)
	fmt.Fprintf(own.stderr, "first the ceiling, %s (--no-ceiling leaves it out)\n", kind.Name)
	r.opsPerS, r.why = l.tryCeiling(ctx, plan, own, kind, trial, folder(dir.path(kind.Folder)))
	l.ceilings[key] = r
	return r
}

// tryCeiling carries a ceiling's plan out, with the trial's nodes and clocks. Its
// logs and its run.json stay in dir.
func (l *Launcher) tryCeiling(ctx context.Context, plan plan.Plan, own trialOptions, kind experiment.Overlay, trial *conductor, dir folder) (float64, error) {
	if err := os.Mkdir(string(dir), 0o755); err != nil {
		return 0, err
	}
	c := newConductor(plan, trial.backend, l.limits, newToken(), l.Force, newDisplay(own.stderr))
	c.preflight = trial.preflight
	run := metrics.Run{ID: dir.id(), Started: c.entered}
	err := c.run(ctx, dir)
	c.fill(&run)
	judge := verdict.Judge
	if kind.NoServers {
		judge = verdict.JudgeInproc
	}
	if run.Verdict = judge(&run); err != nil {
		run.Verdict = verdictOf(err)
	}
	if err := dir.writeRun(run); err != nil {
		return 0, err
	}
	if run.Verdict != verdict.Ceiling {
		return 0, errors.New(run.Verdict.String())
	}
	return run.OpsPerS, nil
}
