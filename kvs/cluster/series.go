package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/trial"
	"kvlab/kvs/experiment"
	"kvlab/kvs/target"
	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// series runs the trials of an experiment in one folder.
type series struct {
	*resolver

	plan  metrics.Sweep
	notes string // what cannot be measured here, in lines
	kind  experiment.Experiment
	dir   trial.Folder
}

// run makes the trials of the experiment that a command line asks for, or those that an
// interrupted one has left. With --dry-run it only prints the plans, and with
// --preflight it only checks the machines.
func (s *series) run(ctx context.Context, args []string) (err error) {
	cfg := s.cfg
	s.plan = planSeries(cfg, args, s.commit)
	s.plan.Changed = s.changed
	planner := cfg.planner
	if s.plan, s.notes, err = planner.Plan(ctx, Site{s}, s.plan); err != nil {
		return usage(err)
	}
	s.kind = planner.Experiment(Site{s}, s.plan)
	known, err := s.resolveAll(ctx)
	if err != nil {
		return usage(err)
	}
	switch {
	case cfg.DryRun:
		return s.dryRun(known)
	case cfg.Preflight && len(known) == 0:
		return usage(errors.New("nothing of the experiment can be measured on these nodes"))
	case cfg.Preflight: // the largest plan has the most machines
		return s.launcher.preflight(ctx, slices.MaxFunc(known, func(a, b configuration) int { return len(a.plan.Places) - len(b.plan.Places) }))
	}
	if s.plan.Programs, err = s.programs(known); err != nil {
		return err
	}
	done, lock, err := s.open()
	if err != nil {
		return err
	}
	defer lock.Release()
	s.kind = planner.Experiment(Site{s}, s.plan)
	fmt.Fprint(s.launcher.Stdout, s.notes)
	s.announce(ctx, done)
	done, err = experiment.Run(ctx, s.kind, done, func(done []metrics.Trial, group experiment.Group) ([]metrics.Trial, error) {
		return s.measure(ctx, done, group)
	})
	err = cmp.Or(s.conclude(done, err), s.dir.WriteManifest())
	if cfg.After != nil {
		err = cmp.Or(err, cfg.After(s.launcher.progress))
	}
	return err
}

// announce says how long the remaining trials of a comparison take. Before the first trial it
// says "at least": rounds may lengthen the window.
func (s *series) announce(ctx context.Context, done []metrics.Trial) {
	groups, err := s.kind.Next(done)
	if err != nil || len(groups) == 0 || groups[0][0].Variant == "" {
		return
	}
	trials, all := 0, time.Duration(0)
	for _, group := range groups {
		longest := time.Duration(0) // they run at the same time
		for _, p := range group {
			at, err := s.resolve(ctx, p.Spec)
			if err != nil {
				return // measure reports it
			}
			secs := at.settings[metrics.Client].Secs()
			longest = max(longest, at.expected()-secs+sharedWindow(done, secs))
		}
		trials, all = trials+len(group), all+longest
	}
	bound := "about"
	if len(done) == 0 {
		bound = "at least"
	}
	fmt.Fprintf(s.launcher.progress, "%s, %s %.1f minutes\n", format.Plural(trials, "trial"), bound, all.Minutes())
}

// sharedWindow returns the length of the windows of an experiment's trials that ask for secs.
func sharedWindow(done []metrics.Trial, secs time.Duration) time.Duration {
	return max(secs, time.Duration(metrics.SharedWindow(done, secs.Seconds())*float64(time.Second)))
}

// planSeries returns the plan that a command line asks for, which its planner completes.
func planSeries(cfg Config, args []string, commit string) metrics.Sweep {
	plan := cfg.Trials.Sweep
	plan.Schema, plan.Started, plan.Command, plan.GitCommit, plan.Lab = metrics.Schema, time.Now(), commandLine(args), commit, cfg.lab()
	for plan.Seed == 0 {
		plan.Seed = uint64(rand.Uint32()) // short enough to type
	}
	return plan
}

// storeNames returns the names of the stores of the target files that a knob varies; none if two
// are the same.
func storeNames(knob metrics.Knob) map[string]string {
	names, values := make(map[string]string), make(map[string]string)
	for _, value := range knob.Values {
		var t target.Target
		if knob.Name == targetFlag && strings.HasSuffix(value, ".toml") && t.Set(value) == nil { // resolve tells what is wrong
			names[value], values[t.Name] = t.Name, value
		}
	}
	if len(values) < len(names) {
		return nil
	}
	return names
}

// resolveAll resolves every spec that is known, and builds the programs of other commits.
func (s *series) resolveAll(ctx context.Context) (known []configuration, err error) {
	for _, spec := range s.kind.Specs() {
		at, err := s.resolve(ctx, spec)
		if err != nil {
			return nil, err
		}
		known = append(known, at)
	}
	return known, nil
}

// programs returns the programs of the checkout, with those of extra/rivals that a known spec
// runs.
func (s *series) programs(known []configuration) (map[metrics.Role]string, error) {
	sums, err := s.launcher.Programs.Sums()
	for _, at := range known {
		if !at.rivals || err != nil {
			continue
		}
		var own map[metrics.Role]string
		own, err = at.programs.Sums()
		for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
			sums[role.Rival()] = own[role]
		}
	}
	return sums, err
}

// dryRun prints the order of the trials and the plan of each spec.
func (s *series) dryRun(known []configuration) error {
	outline := s.kind.Outline()
	fmt.Fprint(s.launcher.Stdout, outline)
	for i, spec := range s.kind.Specs() {
		p := known[i].plan
		if i > 0 && s.plan.Together {
			p = p.OffsetPorts(known[0].plan)
		}
		if outline != "" {
			fmt.Fprintf(s.launcher.Stdout, "\n== %s\n", cmp.Or(spec.Name, "every trial"))
		}
		if err := p.Print(s.launcher.Stdout); err != nil {
			return err
		}
	}
	fmt.Fprint(s.launcher.Stdout, s.notes)
	return nil
}

// resumes reports whether an interrupted experiment can go on. If so, its folder has the plan
// from the start.
func (s *series) resumes() bool { return len(s.kind.Files(nil, false)) > 0 }

// open makes the experiment's folder and writes the plan, or finds the trials that are
// done in the folder of --resume. Until lock is released, no other launcher works in the
// folder. lock may be nil.
func (s *series) open() (done []metrics.Trial, lock *trial.Lock, err error) {
	if s.cfg.Trials.Resume != "" {
		s.dir = trial.Folder(s.cfg.Trials.Resume)
		return s.reopen()
	}
	if s.dir, err = trial.CreateFolder(s.cfg.Out, s.cfg.Name, s.plan.Started); err != nil {
		return nil, nil, usage(err)
	}
	s.plan.ID = s.dir.ID()
	if !s.resumes() {
		return nil, nil, nil
	}
	if err := s.dir.WriteJSON(metrics.SweepFile, s.plan); err != nil {
		return nil, nil, err
	}
	lock, err = s.dir.Lock()
	return nil, lock, err
}

// measure runs the trials of a group, and returns done with them. It has stored them.
func (s *series) measure(ctx context.Context, done []metrics.Trial, group experiment.Group) ([]metrics.Trial, error) {
	var trials []job
	for _, p := range group {
		at, err := s.resolve(ctx, p.Spec)
		if err != nil {
			return done, err
		}
		client := at.settings[metrics.Client]
		t := job{configuration: at, variant: p.Variant, first: len(done) == 0, setup: trial.Setup{
			Dir: trial.Folder(s.dir.Path(p.Folder())), Stderr: s.launcher.progress, Window: sharedWindow(done, client.Secs()), Batch: metrics.SharedBatch(done, client.Batch()),
		}}
		if len(trials) == 0 {
			t.setup.Show = s.launcher.progress.show
			s.launcher.progress.begin(p.Number, p.Of, p.Told, at.expected())
		}
		if err := t.setup.Dir.Clear(); err != nil {
			return done, err
		}
		t.keepApart()
		t.run = metrics.Run{ID: s.dir.ID() + "/" + p.Folder(), GitCommit: at.commit, Changed: at.changed, ServerCommit: at.server, Command: s.plan.Command}
		trials = append(trials, t)
	}
	runs, errs := s.launcher.runGroup(ctx, trials)
	s.launcher.progress.end(len(trials))
	if err := errors.Join(errs...); errors.Is(err, plan.ErrInterrupted) {
		return done, plan.ErrInterrupted
	}
	fitted := len(done) == 0 // the window's length is known now, or has grown
	for i, p := range group {
		trial := metrics.TrialOf(p.PlannedTrial, p.Folder(), runs[i])
		if f := (*plan.Fault)(nil); errors.As(errs[i], &f) {
			trial.Outside = f.Outside
		}
		if line := s.kind.Record(p, &trial); line != "" && (s.cfg.Verbose || !p.Quiet || !trial.Verdict.Stands()) {
			fmt.Fprintln(s.launcher.Stdout, line)
		}
		done = metrics.Insert(done, trial)
		fitted = fitted || sharedWindow(done, trials[i].settings[metrics.Client].Secs()) > trials[i].setup.Window
	}
	if fitted {
		s.announce(ctx, done)
	}
	return done, s.keep(done, false)
}

// keep writes the experiment's files.
func (s *series) keep(done []metrics.Trial, ended bool) (err error) {
	for name, value := range s.kind.Files(done, ended) {
		if text, ok := value.([]byte); ok {
			err = errors.Join(err, s.dir.Write(name, text))
		} else {
			err = errors.Join(err, s.dir.WriteJSON(name, value))
		}
	}
	return err
}

// conclude writes the last files and the figures, and prints the result, the verdict
// last.
func (s *series) conclude(done []metrics.Trial, err error) error {
	err = cmp.Or(err, s.keep(done, true))
	end := s.kind.Conclude(done, err)
	if end.Drawn {
		s.launcher.picture(s.dir)
	}
	s.launcher.list(s.dir)
	if errors.Is(err, context.Canceled) {
		err = plan.ErrInterrupted
	}
	if err != nil && end.Verdict == (metrics.Verdict{}) {
		end.Verdict = trial.VerdictOf(err)
		if s.resumes() {
			s.explainResume(done)
		}
	}
	if end.Answer.Verdict == "" && !end.Verdict.Stands() {
		end.Answer = answer.Of(metrics.Run{Result: metrics.Result{Verdict: end.Verdict}})
	}
	text := end.Brief
	if s.cfg.Verbose || err != nil {
		text = end.Full
	}
	if err != nil {
		return s.launcher.finish(text, end.Answer, s.dir, end.Verdict, err)
	}
	if scale := s.cfg.Grade; scale != nil {
		text += fmt.Sprintf("%s\n\n", scale.GradeTrials(s.plan, done))
	}
	checks, failed := s.launcher.check(s.cfg, s.dir, end.Verdict)
	compared, differs := s.compareRerun()
	return cmp.Or(s.launcher.finish(text+checks+compared, end.Answer, s.dir, end.Verdict, nil), failed, differs)
}

// explainResume prints the command that continues the experiment.
func (s *series) explainResume(done []metrics.Trial) {
	left := 0
	groups, _ := s.kind.Next(done)
	for _, group := range groups {
		left += len(group)
	}
	fmt.Fprintf(s.launcher.Stderr, "%s finished, %d to go; go on with: run-cluster.sh --resume %s\n", format.Plural(len(done), "trial"), left, format.QuoteWord(string(s.dir)))
}
