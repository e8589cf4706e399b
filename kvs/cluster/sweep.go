package cluster

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/experiment"
	"kvlab/metrics"
	"kvlab/plots/compare"
)

// sweep carries out a run of several trials, or what is left of one. args are
// the words that began it.
func (l *Launcher) sweep(ctx context.Context, cfg Config, found []nodes.Node, args []string) (err error) {
	plan := planSweep(cfg, args)
	plan.GitCommit = l.commit(ctx)
	r := &resolver{programs: l.Programs, flags: l.flags, root: l.Root, commit: plan.GitCommit, cfg: cfg, nodes: found}
	defer func() { err = cmp.Or(err, r.builds.Remove()) }()
	if err := r.addSides(ctx, &plan); err != nil {
		return &UsageError{err}
	}
	s := &series{l: l, kind: experiment.Sweep{Plan: plan}, resolver: r, command: plan.Command, resumes: true, draws: true}
	if only, err := s.prepare(ctx, cfg); only || err != nil {
		return err
	}
	if plan.Programs, err = l.Programs.Sums(); err != nil {
		return err
	}
	done, lock, err := s.open(cfg, &plan)
	if err != nil {
		return err
	}
	defer lock.Close()
	s.kind = experiment.Sweep{Plan: plan, Further: func(done []metrics.Trial) string { return further(plan, s.dir, cfg.Grade, done) }}
	return s.run(ctx, done)
}

// planSweep is the plan that a command line asks for.
func planSweep(cfg Config, args []string) metrics.Sweep {
	t := cfg.Trials
	plan := metrics.Sweep{
		Started: time.Now(), Command: commandLine(args), Lab: cfg.lab(),
		Seed: t.Seed, Knobs: t.knobs(), Trials: t.perPoint(), Until: t.Until, Together: t.Together,
	}
	for plan.Seed == 0 {
		plan.Seed = uint64(rand.Uint32()) // short enough to be typed
	}
	plan.Order = experiment.Order(plan.Knobs, plan.Trials, plan.Seed)
	for _, v := range t.AB {
		plan.Variants = append(plan.Variants, metrics.Variant{Args: v.text})
	}
	return plan
}

// addSides completes the variants of the plan, whose programs are built if they are
// another commit's.
func (r *resolver) addSides(ctx context.Context, plan *metrics.Sweep) error {
	var variants []configuration
	for i, spec := range (experiment.Sweep{Plan: *plan}).Specs()[:len(plan.Variants)] {
		at, err := r.resolve(ctx, spec)
		if err != nil {
			return err
		}
		if plan.Variants[i].Programs, err = at.programs.Sums(); err != nil {
			return err
		}
		plan.Variants[i].GitCommit = at.commit
		variants = append(variants, at)
	}
	if plan.Together {
		return sameLengths(ctx, variants[0], variants[1])
	}
	return nil
}

// open makes the sweep's folder and writes the plan, or finds what is done of
// the plan that stands in it. The folder stays the launcher's own until lock is
// closed.
func (s *series) open(cfg Config, plan *metrics.Sweep) (done []experiment.Trial, lock *os.File, err error) {
	if cfg.Trials.Resume != "" {
		s.dir = folder(cfg.Trials.Resume)
		return reopen(s.dir, plan)
	}
	if s.dir, err = createFolder(cfg.Out, plan.Started); err != nil {
		return nil, nil, &UsageError{err}
	}
	plan.ID = s.dir.id()
	if err := s.dir.writeJSON(metrics.SweepFile, plan); err != nil {
		return nil, nil, err
	}
	lock, err = s.dir.lock()
	return nil, lock, err
}

// further is the comparison of variants, and the grade.
func further(plan metrics.Sweep, dir folder, scale compare.Scale, done []metrics.Trial) string {
	text := ""
	if len(plan.Variants) > 0 {
		if compared, err := compare.Variants(string(dir)); err != nil {
			text = fmt.Sprintf("\nno comparison: %v\n", err)
		} else {
			text = fmt.Sprintf("\n%s\n", compared)
		}
	}
	if scale != nil {
		text += fmt.Sprintf("\n%s\n", scale.GradeTrials(plan, done))
	}
	return text
}
