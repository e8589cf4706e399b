package cluster

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/trial"
	"kvlab/kvs/experiment"
	"kvlab/kvs/verdict"
	"kvlab/kvs/verdict/bottleneck"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// ceilings are the ceilings that the launcher has measured, by programs and plan. Trials
// that differ in nothing that a ceiling depends on share it.
type ceilings map[string]metrics.Trial

// noCeiling returns the trial of a ceiling that was not measured.
func noCeiling(reason string) metrics.Trial {
	return metrics.Trial{Result: metrics.Result{Verdict: metrics.Verdict{Reason: reason}}}
}

// measure measures the ceilings of a trial after its preflight, with the trial's nodes and
// clocks. A run that is itself a ceiling has none. The ceiling's note tells a failure. The only
// error is the end of ctx.
func (known ceilings) measure(ctx context.Context, at configuration, setup trial.Setup) (*metrics.Ceiling, error) {
	switch {
	case at.cfg.NoCeiling:
		return &metrics.Ceiling{Note: "--no-ceiling"}, nil
	case at.cfg.Quick:
		return &metrics.Ceiling{Note: "--quick"}, nil
	}
	if setup.Barrier != nil {
		return &metrics.Ceiling{Note: "another trial was made at the same time"}, nil
	}
	kinds := experiment.CeilingsOf(at.settings, at.plan.Count(metrics.Server))
	if len(kinds) == 0 {
		return nil, nil
	}
	if show := setup.Show; show != nil {
		setup.Show = func(s trial.Status) {
			s.Left += at.length()
			show(s)
		}
	}
	done, err := experiment.Run(ctx, kinds, nil, func(done []metrics.Trial, group experiment.Group) ([]metrics.Trial, error) {
		reached := known.reach(ctx, kinds[group[0].Number-1], at, setup)
		reached.Folder, _ = filepath.Rel(string(setup.Dir), reached.Folder) // both are below --out
		return append(done, reached), nil
	})
	return kinds.Conclude(done), cmp.Or(ctx.Err(), err)
}

// reach measures one ceiling, unless it is known. One whose run is not valid is measured once
// more, for as long as the run.
func (known ceilings) reach(ctx context.Context, kind experiment.Overlay, at configuration, setup trial.Setup) metrics.Trial {
	plan, err := overlaid(at.plan, kind, setup.Preflight)
	if err == nil && at.cfg.Hosted { // not every driver has a server without a store
		_, err = at.programs.Check(ctx, plan)
	}
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return noCeiling(err.Error())
	}
	key := fmt.Sprintf("%v %+v", at.programs, plan)
	if known, ok := known[key]; ok {
		return known
	}
	dir := trial.Folder(setup.Dir.Path(kind.Folder))
	run, err := tryCeiling(ctx, at.programs, plan, kind, kind.Lengths(), setup, dir)
	if err == nil && run.Verdict.Check != verdict.Ceiling { // the machine was too busy for the short window
		run, _ = tryCeiling(ctx, at.programs, plan, kind, kind.Again(), setup, dir)
	}
	known[key] = ceilingTrial(run, dir)
	return known[key]
}

// over sets a ceiling beside the result of a run. A ceiling below the result is measured
// once more, in a longer window; the higher of both counts.
func (known ceilings) over(ctx context.Context, c *metrics.Ceiling, run metrics.Run, at configuration, setup trial.Setup) *metrics.Ceiling {
	full := bottleneck.LinkIsFull(run.Bottleneck)
	if over := c.Over(run.OpsPerS, full); !over.NotUsable {
		return over
	}
	kind := experiment.CeilingsOf(at.settings, at.plan.Count(metrics.Server))[0]
	plan, err := overlaid(at.plan, kind, setup.Preflight)
	key := fmt.Sprintf("%v %+v", at.programs, plan)
	if known[key].Number > 0 || err != nil { // it was measured again already
		return c.Over(run.OpsPerS, full)
	}
	dir := trial.Folder(setup.Dir.Path(kind.Folder + "-again"))
	measured, _ := tryCeiling(ctx, at.programs, plan, kind, kind.Again(), setup, dir)
	best := known[key]
	if again := ceilingTrial(measured, dir); again.OpsPerS > best.OpsPerS {
		best = again
		c.NullOpsPerS, c.From[kind.Folder] = again.OpsPerS, filepath.Base(again.Folder)
	}
	best.Number = 2
	known[key] = best
	return c.Over(run.OpsPerS, full)
}

// tryCeiling runs a ceiling's plan, with the nodes and clocks of a trial. It empties dir
// first. The error says why the processes ended early. The run's verdict names every failure.
func tryCeiling(ctx context.Context, programs plan.Programs, plan plan.Plan, kind experiment.Overlay, lengths []string, of trial.Setup, dir trial.Folder) (run metrics.Run, err error) {
	plan.ClientArgs = slices.Concat(plan.ClientArgs, lengths)
	if err := cmp.Or(os.RemoveAll(string(dir)), os.Mkdir(string(dir), 0o755)); err != nil {
		return metrics.Run{Result: metrics.Result{Verdict: trial.VerdictOf(err)}}, err
	}
	asked, err := programs.Check(ctx, plan)
	if err != nil {
		return metrics.Run{Result: metrics.Result{Verdict: trial.VerdictOf(err)}}, err
	}
	run = metrics.Run{ID: dir.ID(), Result: metrics.Result{Started: time.Now()}}
	controller := trial.New(trial.Setup{
		Plan: plan, Asked: asked, Dir: dir, Typed: true, Runner: of.Runner, Timeouts: of.Timeouts, Force: of.Force, Preflight: of.Preflight,
		Show: func(s trial.Status) {
			if of.Show != nil {
				s.Phase = "ceiling, " + kind.Name
				of.Show(s)
			}
		},
	})
	err = controller.Run(ctx)
	controller.Fill(&run)
	if run.Verdict = kind.Judge(&run); err != nil {
		run.Verdict = trial.VerdictOf(err)
	}
	if unwritten := dir.WriteRun(run); unwritten != nil {
		run.Verdict, err = trial.VerdictOf(unwritten), unwritten
	}
	return run, err
}

// ceilingTrial returns a ceiling's run as a trial, which is valid if the run reached its end.
func ceilingTrial(run metrics.Run, dir trial.Folder) metrics.Trial {
	if run.Verdict.Check != verdict.Ceiling {
		return noCeiling(run.Verdict.String())
	}
	return metrics.Trial{Folder: string(dir), Result: metrics.Result{OpsPerS: run.OpsPerS, Verdict: metrics.Verdict{Valid: true}}, Run: &run}
}

// overlaid returns the plan with a ceiling's changes, or an error if a machine has no
// room for its clients' stores.
func overlaid(p plan.Plan, o experiment.Overlay, preflight *metrics.Preflight) (plan.Plan, error) {
	if o.Impossible != nil {
		return p, o.Impossible
	}
	p.ServerArgs = append(plan.Without(p.ServerArgs, o.Server.Drop...), o.Server.Add...)
	p.ClientArgs = append(plan.Without(p.ClientArgs, o.Client.Drop...), o.Client.Add...)
	p.RestartAt = 0
	if o.NoServers {
		isServer := func(p plan.Place) bool { return p.Role == metrics.Server }
		p.Places, p.ServerArgs = slices.DeleteFunc(slices.Clone(p.Places), isServer), nil
	}
	return p, fits(o.StoreBytes, preflight)
}

// fits returns an error if the stores of a machine's clients take more than half of its
// available memory.
func fits(bytes uint64, preflight *metrics.Preflight) error {
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
