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

	"kvlab/extra/grade"
	"kvlab/extra/study"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/trial"
	"kvlab/kvs/experiment"
	"kvlab/kvs/node"
	"kvlab/kvs/target"
	"kvlab/kvs/verdict"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/compare"
)

// series runs an experiment in one folder: a sweep, a comparison, a search, a study, a
// class or the self-test.
type series struct {
	*resolver

	plan metrics.Sweep
	kind experiment.Experiment
	dir  trial.Folder
}

// run makes the trials of the experiment that a command line asks for, or those that an
// interrupted one has left. With --dry-run it only prints the plans, and with
// --preflight it only checks the machines.
func (s *series) run(ctx context.Context, args []string) (err error) {
	cfg := s.cfg
	defer func() { err = cmp.Or(err, s.builds.Remove()) }()
	s.plan = planSeries(cfg, args, s.commit)
	s.plan.Changed = s.changed
	if len(cfg.Trials.Studies) > 0 {
		s.planStudy(ctx)
	}
	if cfg.Trials.Class != nil {
		if err := s.planClass(ctx); err != nil {
			return usage(err)
		}
	}
	s.kind = s.experiment()
	known, err := s.resolveAll(ctx)
	if err != nil {
		return usage(err)
	}
	switch {
	case cfg.DryRun:
		return s.dryRun(known)
	case cfg.Preflight && len(known) == 0:
		return usage(errors.New("--study: nothing can be tested on these nodes"))
	case cfg.Preflight: // the largest plan has the most machines
		return s.launcher.preflight(ctx, slices.MaxFunc(known, func(a, b configuration) int { return len(a.plan.Places) - len(b.plan.Places) }))
	}
	if s.plan.Programs, err = s.launcher.Programs.Sums(); err != nil {
		return err
	}
	done, lock, err := s.open()
	if err != nil {
		return err
	}
	defer lock.Release()
	s.kind = s.experiment()
	s.sayMissing()
	s.announce(ctx, done)
	done, err = experiment.Run(ctx, s.kind, done, func(done []metrics.Trial, group experiment.Group) ([]metrics.Trial, error) {
		return s.make(ctx, done, group)
	})
	return cmp.Or(s.conclude(done, err), s.dir.WriteManifest())
}

// announce says how long the trials of a comparison that are left take: at least, until one has
// shown how long the window of its rounds is.
func (s *series) announce(ctx context.Context, done []metrics.Trial) {
	groups, err := s.kind.Next(done)
	if err != nil || len(s.plan.Variants) == 0 || len(groups) == 0 {
		return
	}
	trials, all := 0, time.Duration(0)
	for _, group := range groups {
		longest := time.Duration(0) // they run at the same time
		for _, p := range group {
			at, err := s.resolve(ctx, p.Spec)
			if err != nil {
				return // make reports it
			}
			secs := at.settings[metrics.Client].Length("secs")
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

// sharedWindow is the length of the windows of an experiment's trials that ask for secs.
func sharedWindow(done []metrics.Trial, secs time.Duration) time.Duration {
	return max(secs, time.Duration(metrics.SharedWindow(done, secs.Seconds())*float64(time.Second)))
}

// planSeries is the plan that a command line asks for.
func planSeries(cfg Config, args []string, commit string) metrics.Sweep {
	plan := cfg.Trials.Sweep
	plan.Schema, plan.Started, plan.Command, plan.GitCommit, plan.Lab = metrics.Schema, time.Now(), commandLine(args), commit, cfg.lab()
	switch {
	case plan.Trials > 0:
	case plan.Until > 0:
		plan.Trials = fewest
	case len(plan.Variants) > 0:
		plan.Trials = abPairs
	case cfg.Trials.isCurve():
		plan.Trials = ofRates
	default:
		plan.Trials = 1
	}
	for plan.Seed == 0 {
		plan.Seed = uint64(rand.Uint32()) // short enough to type
	}
	for i := range plan.Knobs {
		plan.Knobs[i].Names = storeNames(plan.Knobs[i])
	}
	if cfg.Trials.isCurve() {
		return cfg.Trials.Curve.Planned(plan)
	}
	plan.Order = experiment.Order(plan.Knobs, plan.Trials, plan.Seed)
	return plan
}

// storeNames are the names of the stores of the target files that a knob varies; none if two
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

// peakSecs is the longest window of the closed loops that measure a curve's peak.
const peakSecs = 3

// experiment is what the command line asks for, with the plan as it is now.
func (s *series) experiment() experiment.Experiment {
	cfg := s.cfg
	switch {
	case cfg.SelfTest != nil:
		kind := *cfg.SelfTest
		kind.Plan = s.plan
		if len(s.nodes) == 0 && cfg.ServerCores == "" && cfg.ClientCores == "" {
			if servers, clients, ok := node.Halves(); ok {
				kind.Cores = "--server-cores " + servers + " --client-cores " + clients
			}
		}
		return kind
	case cfg.Trials.isCurve():
		kind := cfg.Trials.Curve
		kind.Plan, kind.PeakSecs = s.plan, peakSecs
		if cfg.Secs > 0 {
			kind.PeakSecs = min(peakSecs, cfg.Secs)
		}
		return kind
	}
	sweep := experiment.Sweep{Plan: s.plan}
	length := func(args string) time.Duration { return s.launcher.lengthOf(args, cfg, len(s.nodes) > 0) }
	switch {
	case s.plan.Study != nil:
		return study.Experiment{Sweep: sweep, Length: length}
	case s.plan.Class != nil:
		return grade.Experiment{Sweep: sweep, Length: length}
	}
	return sweep
}

// resolveAll resolves every spec that is known, and completes the plan's variants. The
// programs of other commits are built here.
func (s *series) resolveAll(ctx context.Context) (known []configuration, err error) {
	for _, spec := range s.kind.Specs() {
		at, err := s.resolve(ctx, spec)
		if err != nil {
			return nil, err
		}
		known = append(known, at)
	}
	for i := range s.plan.Variants {
		s.plan.Variants[i].GitCommit, s.plan.Variants[i].ServerCommit = known[i].commit, known[i].server
		if s.plan.Variants[i].Programs, err = known[i].programs.Sums(); err != nil {
			return nil, err
		}
	}
	if s.plan.Together {
		err = fitTogether(known)
	}
	return known, err
}

// dryRun prints the order of the trials and the plan of each spec.
func (s *series) dryRun(known []configuration) error {
	sweep, ordered := s.kind.(interface{ Outline() string })
	if ordered {
		fmt.Fprint(s.launcher.Stdout, sweep.Outline())
	}
	for i, spec := range s.kind.Specs() {
		p := known[i].plan
		if i > 0 && s.plan.Together {
			p = p.OffsetPorts(known[0].plan)
		}
		if ordered {
			fmt.Fprintf(s.launcher.Stdout, "\n== %s\n", cmp.Or(spec.Name, "every trial"))
		}
		if err := p.Print(s.launcher.Stdout); err != nil {
			return err
		}
	}
	s.sayMissing()
	return nil
}

// sayMissing prints what of an experiment cannot be measured.
func (s *series) sayMissing() {
	if e, ok := s.kind.(interface{ Missing() string }); ok {
		fmt.Fprint(s.launcher.Stdout, e.Missing())
	}
}

// resumes reports whether an interrupted experiment can go on: its plan is then in its
// folder from the start.
func (s *series) resumes() bool { return s.cfg.Trials.many() }

// open makes the experiment's folder and writes the plan, or finds the trials that are
// done in the folder of --resume. No other launcher works in the folder before lock,
// which may be nil, is released.
func (s *series) open() (done []metrics.Trial, lock *trial.Lock, err error) {
	if s.cfg.Trials.Resume != "" {
		s.dir = trial.Folder(s.cfg.Trials.Resume)
		return reopen(s.dir, &s.plan)
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

// make makes the trials of a group, and returns done with them, which it has stored.
func (s *series) make(ctx context.Context, done []metrics.Trial, group experiment.Group) ([]metrics.Trial, error) {
	var trials []job
	for _, p := range group {
		at, err := s.resolve(ctx, p.Spec)
		if err != nil {
			return done, err
		}
		t := job{configuration: at, variant: p.Variant, dir: trial.Folder(s.dir.Path(p.Folder())), stderr: s.launcher.progress, first: len(done) == 0}
		t.window = sharedWindow(done, at.settings[metrics.Client].Length("secs"))
		t.batch = metrics.SharedBatch(done, at.settings[metrics.Client].Number("batch"))
		if len(trials) == 0 {
			t.show = s.launcher.progress.show
			label := ""
			if s.plan.Class != nil {
				label = p.Label // the team, which a number does not tell
			}
			s.launcher.progress.begin(p.Number, p.Of, label, at.expected())
		}
		if err := t.dir.Clear(); err != nil {
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
	_, sweeps := s.kind.(experiment.Sweep) // its trials are in the report, as those of a study and a class
	sweeps = sweeps || s.plan.Study != nil || s.plan.Class != nil
	fitted := len(done) == 0 // the window's length is known now, or has grown
	for i, p := range group {
		trial := metrics.TrialOf(p.PlannedTrial, p.Folder(), runs[i])
		if f := (*plan.Fault)(nil); errors.As(errs[i], &f) {
			trial.Outside = f.Outside
		}
		if line := s.kind.Record(p, &trial); line != "" && (s.cfg.Verbose || !sweeps || !trial.Verdict.Valid) {
			fmt.Fprintln(s.launcher.Stdout, line)
		}
		done = metrics.Insert(done, trial)
		fitted = fitted || sharedWindow(done, trials[i].settings[metrics.Client].Length("secs")) > trials[i].window
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
	if errors.Is(err, context.Canceled) {
		err = plan.ErrInterrupted
	}
	err = cmp.Or(err, s.keep(done, true))
	if s.cfg.SelfTest == nil && len(done) > 0 && (s.plan.Class != nil || !errors.Is(err, plan.ErrInterrupted)) {
		s.launcher.picture(s.dir)
	}
	s.launcher.list(s.dir)
	text, judged := s.kind.Conclude(done, err)
	if err != nil && judged == (metrics.Verdict{}) {
		judged = trial.VerdictOf(err)
		if s.resumes() {
			s.explainResume(done)
		}
	}
	if sweep, ok := s.kind.(interface{ Brief([]metrics.Trial) string }); ok && err == nil {
		if !s.cfg.Verbose {
			text = sweep.Brief(done)
		}
		checks, failed := s.launcher.check(s.cfg, s.dir, judged)
		again, differs := s.again()
		return cmp.Or(finish(s.launcher.Stdout, text+s.further(done)+checks+again, s.answer(done), s.dir, judged, err), failed, differs)
	}
	a := verdict.Answer{} // the text is the answer
	if !judged.Valid {
		a = verdict.AnswerOf(metrics.Run{Verdict: judged})
	}
	return finish(s.launcher.Stdout, text, a, s.dir, judged, err)
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

// answer is the answer of a sweep's trials; of a comparison, the ratio is its headline.
func (s *series) answer(done []metrics.Trial) verdict.Answer {
	if e, ok := s.kind.(grade.Experiment); ok {
		return e.Answer(done)
	}
	if c, ok := s.kind.(experiment.Curve); ok {
		s.plan = c.Grown(done)
	}
	a := verdict.AnswerOfTrials(s.plan, done)
	if s.plan.Study != nil {
		outcomes := metrics.OutcomesOf(study.Decide(s.plan, done))
		if a.Basis = outcomes; a.Good {
			a.Headline, a.Basis = outcomes, format.Plural(len(done), "trial")
			a.Latency, a.Limit, a.Next = "", "", "read "+s.dir.Path("study.md")+" for the figures of each claim"
		}
	}
	if len(s.plan.Variants) == 0 || !a.Good {
		return a
	}
	compared, err := compare.Variants(string(s.dir))
	if err != nil {
		a.Headline, a.Basis = fmt.Sprintf("no comparison: %v", err), ""
		return a
	}
	a.Headline, a.Basis = compared.Headline()
	return a
}

// further returns the comparison of variants in full, and the grade.
func (s *series) further(done []metrics.Trial) string {
	text := ""
	if compared, err := compare.Variants(string(s.dir)); s.cfg.Verbose && len(s.plan.Variants) > 0 && err == nil {
		text = fmt.Sprintf("%s\n\n", compared)
	}
	if scale := s.cfg.Grade; scale != nil {
		text += fmt.Sprintf("%s\n\n", scale.GradeTrials(s.plan, done))
	}
	return text
}
