package cluster

import (
	"context"
	"errors"
	"io"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/preflight"
	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/cluster/trial"
	"kvlab/kvs/experiment"
	"kvlab/kvs/verdict"
	"kvlab/metrics"
)

// configuration is what a trial runs.
type configuration struct {
	cfg      Config
	plan     plan.Plan
	programs plan.Programs
	commit   string // of the programs
}

// trialOptions are the options of one trial beside its configuration.
type trialOptions struct {
	stderr  io.Writer      // progress and explanations
	barrier *trial.Barrier // with the other trial of a pair; nil for none
}

// trial runs a plan once, with new processes and a new load, and always writes the run's
// files to dir. The caller sets run's names; trial fills in the rest, including the
// verdict. The error is the cause of an early end, already explained on Stderr: a
// plan.Fault or plan.ErrInterrupted.
func (l *Launcher) trial(ctx context.Context, at configuration, own trialOptions, dir trial.Folder, run metrics.Run) (metrics.Run, error) {
	run.Started = time.Now()
	run.Lab = at.cfg.lab()
	led, ceiling, err := l.conduct(ctx, at, own, dir)
	run.Ended = run.Started.Add(time.Since(run.Started)) // correct even if the wall clock was set
	led.Fill(&run)
	if run.Verdict = verdict.Judge(&run); run.Verdict.Valid && ceiling != nil {
		run.Ceiling = ceiling.Over(run.OpsPerS)
	}
	if err != nil {
		run.Verdict = trial.VerdictOf(err)
		led.Explain(own.stderr, err)
	}
	run.Latency = led.Quantiles(run)
	if run.Verdict.Valid || run.Verdict == verdict.Ceiling {
		run.Bottleneck = verdict.FindBottleneck(run)
	}
	written := errors.Join(dir.WriteRun(run), dir.Write("summary.txt", []byte(experiment.Benchmark(run))), led.SaveViolations(dir))
	if err == nil && written != nil {
		run.Verdict, err = trial.VerdictOf(written), written
		led.Explain(own.stderr, err)
	}
	return run, err
}

// conduct prepares the nodes, measures the ceiling and runs the trial.
func (l *Launcher) conduct(ctx context.Context, at configuration, own trialOptions, dir trial.Folder) (led *trial.Controller, ceiling *metrics.Ceiling, err error) {
	defer own.barrier.Drop()
	defer func() { err = explain(ctx, at.plan.Source(), err) }()
	setup := trial.Setup{
		Plan: at.plan, Timeouts: l.timeouts, Force: l.Force, Stderr: own.stderr, Dir: dir, Soak: at.cfg.Soak, Barrier: own.barrier,
	}
	limited, cancel := trial.WithDeadline(ctx, at.cfg.Deadline)
	defer cancel()
	if setup.Runner, err = l.runner(at.cfg, at.programs); err != nil {
		return trial.New(setup), nil, err
	}
	target := l.target(at, setup.Runner)
	found, err := preflight.Run(limited, target)
	if len(found.Machines) > 0 {
		setup.Preflight = &found
		preflight.Report(own.stderr, found)
	}
	if err == nil {
		err = own.barrier.Wait(limited)
	}
	if err == nil {
		ceiling, err = l.ceilings.measure(limited, at, setup)
	}
	if limited.Err() != nil {
		err = trial.Cut(limited)
	}
	led = trial.New(setup)
	if err == nil {
		err = led.Lead(limited)
	}
	if err == nil {
		preflight.ClocksAfter(ctx, target, &found)
		led.VerifyTogether(ctx)
	}
	return led, ceiling, err
}

// runner runs a configuration's programs on its nodes.
func (l *Launcher) runner(cfg Config, programs plan.Programs) (*remote.Runner, error) {
	return remote.New(remote.Programs{SSH: l.SSH, SSHConfig: cfg.SSHConfig, Srun: l.Slurm.Srun}, programs)
}
