package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/trial"
	"kvlab/kvs/experiment"
	"kvlab/kvs/verdict"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// ceilings are the ceilings that the launcher has measured, by programs and plan. Trials
// that differ in nothing that a ceiling depends on share it.
type ceilings map[string]reached

// reached is a ceiling's rate, or why there is none.
type reached struct {
	opsPerS float64
	err     error
}

// measure measures the ceilings of a trial after its preflight, with the trial's nodes
// and clocks. A run that is a ceiling itself has none. A failure stands in the
// ceiling's note; the only error is the end of ctx.
func (known ceilings) measure(ctx context.Context, at configuration, setup trial.Setup) (*metrics.Ceiling, error) {
	if at.cfg.NoCeiling {
		return &metrics.Ceiling{Note: "--no-ceiling"}, nil
	}
	if setup.Barrier != nil {
		return &metrics.Ceiling{Note: "another trial was made at the same time"}, nil
	}
	work, err := workOf(ctx, at.programs, at.plan)
	if err != nil {
		return &metrics.Ceiling{Note: format.OneLine(err.Error())}, ctx.Err()
	}
	kinds := work.Ceilings()
	if len(kinds) == 0 {
		return nil, nil
	}
	runner := experiment.Runner{Next: kinds, Keep: func([]experiment.Trial) error { return nil }}
	runner.Make = func(ctx context.Context, group experiment.Group) ([]experiment.Trial, error) {
		r := known.reach(ctx, kinds[group[0].Number-1], at, setup)
		made := metrics.Trial{OpsPerS: r.opsPerS, Verdict: metrics.Verdict{Valid: r.err == nil}}
		if r.err != nil {
			made.Verdict.Reason = r.err.Error()
		}
		return []experiment.Trial{{Trial: made}}, nil
	}
	done, err := runner.Run(ctx, nil)
	return kinds.Conclude(done), cmp.Or(ctx.Err(), err)
}

// reach measures one ceiling, unless it is known.
func (known ceilings) reach(ctx context.Context, kind experiment.Overlay, at configuration, setup trial.Setup) (r reached) {
	plan, err := overlaid(at.plan, kind, setup.Preflight)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return reached{err: err}
	}
	key := fmt.Sprintf("%v %+v", at.programs, plan)
	if r, ok := known[key]; ok {
		return r
	}
	plan.ClientArgs = slices.Concat(plan.ClientArgs, kind.Lengths)
	fmt.Fprintf(setup.Stderr, "first the ceiling, %s (--no-ceiling leaves it out)\n", kind.Name)
	r.opsPerS, r.err = tryCeiling(ctx, plan, kind, setup)
	known[key] = r
	return r
}

// tryCeiling runs a ceiling's plan, with the nodes and clocks of a trial. Its logs and
// its run.json stay in a folder below the trial's.
func tryCeiling(ctx context.Context, plan plan.Plan, kind experiment.Overlay, of trial.Setup) (float64, error) {
	dir := trial.Folder(of.Dir.Path(kind.Folder))
	if err := os.Mkdir(string(dir), 0o755); err != nil {
		return 0, err
	}
	run := metrics.Run{ID: dir.ID(), Started: time.Now()}
	led := trial.New(trial.Setup{
		Plan: plan, Dir: dir, Runner: of.Runner, Timeouts: of.Timeouts, Force: of.Force, Stderr: of.Stderr, Preflight: of.Preflight,
	})
	err := led.Lead(ctx)
	led.Fill(&run)
	judge := verdict.Judge
	switch {
	case kind.NoServers:
		judge = verdict.JudgeInproc
	case kind.Repeats:
		judge = verdict.JudgeRepeat
	}
	if run.Verdict = judge(&run); err != nil {
		run.Verdict = trial.VerdictOf(err)
	}
	if err := dir.WriteRun(run); err != nil {
		return 0, err
	}
	if run.Verdict != verdict.Ceiling {
		return 0, errors.New(run.Verdict.String())
	}
	return run.OpsPerS, nil
}
