package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/preflight"
	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/cluster/trial"
	"kvlab/kvs/experiment"
	"kvlab/kvs/target"
	"kvlab/kvs/verdict"
	"kvlab/kvs/verdict/audit"
	"kvlab/kvs/verdict/bottleneck"
	"kvlab/kvs/verdict/work"
	"kvlab/metrics"
	"kvlab/workload"
)

// job is a trial to be made.
type job struct {
	configuration
	variant string      // of a pair: A or B
	run     metrics.Run // with what names it
	first   bool        // of the command: the preflight's findings are shown
	setup   trial.Setup // Dir, Stderr, Show, Window, Batch, Lowered and Barrier; conduct sets the rest
}

// keepApart puts a random word before the keys of a trial that inserts into a store that runs.
// Without it the trial would find the keys that an earlier trial has left there. All words have
// one length.
func (j *job) keepApart() {
	if client := j.settings[metrics.Client]; j.runs && work.Has(client, workload.Insert) {
		word := fmt.Sprintf("%s%05x-", client["key-prefix"], rand.Uint32N(1<<20))
		j.plan.ClientArgs = plan.With(j.plan.ClientArgs, "key-prefix", word)
		client, j.settings = maps.Clone(client), maps.Clone(j.settings)
		client["key-prefix"], j.settings[metrics.Client] = word, client
	}
}

// trial runs a plan once, with new processes and a new load, and always writes the run's
// files to its folder. The result is complete, including the verdict. The error is the
// cause of an early end, already explained on stderr: a plan.Fault or
// plan.ErrInterrupted.
func (l *Launcher) trial(ctx context.Context, j job) (metrics.Run, error) {
	run := j.run
	run.Started = time.Now()
	run.Lab, run.Quick = j.cfg.lab(), j.cfg.Quick
	controller, ceiling, err := l.conduct(ctx, j)
	run.Ended = run.Started.Add(time.Since(run.Started)) // correct even if the wall clock was set
	controller.Fill(&run)
	if err == nil {
		secret, records := controller.Audited()
		run.Audit = audit.Judge(run, secret, records)
	}
	run.Verdict = verdict.Judge(&run)
	if err != nil {
		run.Verdict = trial.VerdictOf(err)
		controller.Explain(j.setup.Stderr, err, j.cfg.Verbose)
	}
	if run.Verdict.Valid || run.Verdict.Check == verdict.Ceiling {
		run.Bottleneck = bottleneck.Find(run)
	}
	if run.Verdict.Valid && ceiling != nil {
		run.Ceiling = l.ceilings.over(ctx, ceiling, run, j.configuration, controller.Setup)
	}
	written := errors.Join(controller.SaveViolations(), writeResult(j.setup.Dir, run))
	if err == nil && written != nil {
		run.Verdict, err = trial.VerdictOf(written), written
		controller.Explain(j.setup.Stderr, err, j.cfg.Verbose)
	}
	return run, err
}

// writeResult writes run.json, summary.txt and the manifest.
func writeResult(dir trial.Folder, run metrics.Run) error {
	return errors.Join(dir.WriteRun(run), dir.Write("summary.txt", []byte(experiment.Benchmark(run))), dir.WriteManifest())
}

// conduct prepares the nodes, measures the ceiling and runs the trial.
func (l *Launcher) conduct(ctx context.Context, j job) (controller *trial.Controller, ceiling *metrics.Ceiling, err error) {
	defer j.setup.Barrier.Drop()
	defer func() { err = explain(ctx, l.Slurm, j.plan, err) }()
	setup := j.setup
	setup.Plan, setup.Runner, setup.Password, setup.Asked = j.plan, l.runner(j.configuration), j.password, j.settings
	setup.Timeouts, setup.Force, setup.Soak = l.timeouts, l.Force, j.cfg.Soak
	limited, cancel := trial.WithDeadline(ctx, j.cfg.Deadline)
	defer cancel()
	target := l.target(j.configuration, setup.Runner)
	found, err := preflight.Run(limited, target)
	if len(found.Machines) > 0 {
		setup.Preflight = &found
		if err != nil || j.first && (j.cfg.Verbose || len(found.Findings) > 0) {
			preflight.Report(j.setup.Stderr, found)
		}
	}
	if open := j.warning(); err == nil && j.first && open != "" {
		fmt.Fprintln(j.setup.Stderr, open)
	}
	if err == nil {
		setup.Contained, err = l.contained(limited, j.plan, setup.Runner)
	}
	if err == nil {
		err = j.setup.Barrier.Wait(limited)
	}
	if err == nil {
		ceiling, err = l.ceilings.measure(limited, j.configuration, setup)
	}
	if limited.Err() != nil {
		err = trial.Cut(limited)
	}
	controller = trial.New(setup)
	if err == nil {
		err = controller.Run(limited)
	}
	if err == nil {
		preflight.ClocksAfter(ctx, target, &found)
		controller.VerifyTogether(ctx)
	}
	return controller, ceiling, err
}

// runner runs a configuration's programs on its nodes.
func (l *Launcher) runner(at configuration) *remote.Runner {
	r := remote.New(remote.Programs{SSH: l.SSH, SSHConfig: at.cfg.SSHConfig, Srun: l.Slurm.Srun}, at.programs)
	if at.plan.Contain != nil {
		var write []string
		if dir := at.settings[metrics.Server].Dir(); filepath.IsAbs(dir) {
			write = []string{dir}
		}
		r.Contain(at.plan.Contain, write, at.plan.Hosted)
	}
	return r
}

// contained returns the limits of the servers' programs, and the walls that hold on the node
// with the fewest; nil if the programs are not contained.
func (l *Launcher) contained(ctx context.Context, p plan.Plan, r *remote.Runner) (*metrics.Containment, error) {
	if p.Contain == nil {
		return nil, nil
	}
	limits := p.Contain.String()
	machines, errs := make([][]metrics.Wall, p.Count(metrics.Server)), make([]error, p.Count(metrics.Server))
	if p.Local {
		machines, errs = machines[:1], errs[:1]
	}
	remote.Each(len(machines), remote.Parallel, func(i int) {
		place := p.Places[i] // servers first
		key := limits + " " + place.Node.Name
		if known, ok := l.walls.Load(key); ok {
			machines[i] = known.([]metrics.Wall)
			return
		}
		machines[i], errs[i] = r.Walls(ctx, place)
		if errs[i] == nil {
			l.walls.Store(key, machines[i])
		}
	})
	return &metrics.Containment{Limits: limits, Walls: fewestWalls(machines...)}, errors.Join(errs...)
}

// fewestWalls returns the walls of the machine on which the fewest hold.
func fewestWalls(machines ...[]metrics.Wall) []metrics.Wall {
	broken := func(walls []metrics.Wall) int {
		return len(slices.DeleteFunc(slices.Clone(walls), func(w metrics.Wall) bool { return w.Held }))
	}
	return slices.MaxFunc(machines, func(a, b []metrics.Wall) int { return cmp.Compare(broken(a), broken(b)) })
}

// single makes one trial, and prints its result.
func (l *Launcher) single(ctx context.Context, args []string, r *resolver) error {
	at, err := r.resolve(ctx, experiment.Spec{})
	switch {
	case err != nil:
		return usage(err)
	case r.cfg.DryRun:
		return at.plan.Print(l.Stdout)
	case r.cfg.Preflight:
		return l.preflight(ctx, at)
	}
	dir, err := trial.CreateFolder(r.cfg.Out, r.cfg.Name, time.Now())
	if err != nil {
		return usage(err)
	}
	l.progress.begin(1, 1, "", at.expected())
	runs, errs := l.runGroup(ctx, []job{{
		configuration: at, setup: trial.Setup{Dir: dir, Stderr: l.progress, Show: l.progress.show}, first: true,
		run: metrics.Run{ID: dir.ID(), GitCommit: at.commit, Changed: at.changed, Command: commandLine(args)},
	}})
	run, err := runs[0], errs[0]
	l.progress.end(1)
	if err == nil {
		l.picture(dir)
	}
	l.list(dir)
	return l.conclude(r.cfg, dir, run, err)
}

// fitTogether refuses --together for variants that write to one store, and for variants whose
// warm-ups or windows differ in length.
func fitTogether(variants []configuration) error {
	var targets [2]target.Target
	for i, at := range variants {
		_ = targets[i].Set(cmp.Or(plan.ValueOf(at.plan.ServerArgs, targetFlag), "own")) // aim has read it
	}
	for _, address := range targets[0].Servers {
		if slices.Contains(targets[1].Servers, address) {
			return fmt.Errorf("--together: both variants would write to the store that runs at %s: want a -target that is started for each, or --ab alone", address)
		}
	}
	var lengths [2][2]time.Duration
	for i, at := range variants {
		client := at.settings[metrics.Client]
		lengths[i] = [2]time.Duration{client.WarmUp(), client.Secs()}
	}
	if lengths[0] != lengths[1] {
		return fmt.Errorf("--together: the variants need the same -warmup and -secs: A has %v, B %v", lengths[0], lengths[1])
	}
	return nil
}

// runGroup runs a trial, or two at the same time. While the default of -batch is too large for
// one of them, it makes them again with a smaller one.
func (l *Launcher) runGroup(ctx context.Context, trials []job) (runs []metrics.Run, errs []error) {
	runs, errs = make([]metrics.Run, len(trials)), make([]error, len(trials))
	if len(trials) == 2 {
		pairUp(trials)
	}
	for {
		var all sync.WaitGroup
		for i, t := range trials {
			all.Go(func() { runs[i], errs[i] = l.trial(ctx, t) })
		}
		all.Wait()
		again, err := lowerBatch(trials, errs)
		if err != nil {
			errs[0] = err
		}
		if !again || err != nil {
			break
		}
	}
	if len(trials) < 2 {
		return runs, errs
	}
	if apart := verdict.CheckCommonWindow(runs[0], runs[1]); !apart.Valid {
		for i, t := range trials {
			if runs[i].Verdict.Valid || runs[i].Verdict.Check == verdict.Injected {
				runs[i].Verdict = apart
				errs[i] = cmp.Or(errs[i], writeResult(t.setup.Dir, runs[i]))
			}
		}
	}
	return runs, errs
}

// lowerBatch prepares trials to be made again with the smaller default of -batch that one of
// them asks for, and reports whether one does. It renames their folders, which keep their files.
func lowerBatch(trials []job, errs []error) (again bool, err error) {
	batch := uint64(math.MaxUint64)
	for _, ended := range errs {
		var f *plan.Fault
		if errors.Is(ended, plan.ErrInterrupted) {
			return false, nil
		}
		if errors.As(ended, &f) && f.Batch > 0 {
			batch, again = min(batch, f.Batch), true
		}
	}
	if !again {
		return false, nil
	}
	barriers := trial.NewBarriers()
	for i := range trials {
		t := &trials[i]
		t.setup.Batch, t.setup.Lowered, t.first = batch, t.setup.Lowered+1, false
		if len(trials) == 2 {
			t.setup.Barrier = barriers[i]
		}
		err = errors.Join(err, t.setup.Dir.Clear())
	}
	return true, err
}

// pairUp prepares two trials for the same time on the same nodes. They have one window, so
// that a disturbance of the nodes meets both. The servers of A and B use different ports.
func pairUp(trials []job) {
	barriers, writing := trial.NewBarriers(), new(sync.Mutex)
	for i := range trials {
		t, other := &trials[i], trials[1-i]
		if t.variant == metrics.VariantNames[1] {
			t.plan = t.plan.OffsetPorts(other.plan)
		}
		t.setup.Stderr, t.setup.Barrier = named(writing, t.setup.Stderr, t.variant), barriers[i]
		t.run.Together = other.run.ID
	}
}

// named returns a writer that puts a name before each line. It writes whole lines, so that two
// of them may share a terminal.
func named(mu *sync.Mutex, w io.Writer, name string) io.Writer {
	return &remote.LineWriter{Take: func(line []byte) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := fmt.Fprintf(w, "%s: %s\n", name, line)
		return err
	}}
}
