package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/experiment"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// series is an experiment that is carried out in one folder.
type series struct {
	l        *Launcher
	kind     experiment.Experiment
	resolver *resolver
	command  []string
	dir      folder
	resumes  bool // the folder can be resumed
	draws    bool // the folder has figures
	began    time.Time
	made     int // trials since then
}

// prepare resolves every spec that is known. only says that the command line asks for
// that alone, as --dry-run and --check do.
func (s *series) prepare(ctx context.Context, cfg Config) (only bool, err error) {
	largest, err := s.largest(ctx)
	switch {
	case err != nil:
		return false, &UsageError{err}
	case cfg.DryRun:
		return true, s.dryRun(ctx, s.l.Stdout)
	case cfg.Preflight:
		return true, s.l.check(ctx, largest)
	}
	return false, nil
}

// dryRun prints the order of the trials and the plan of each spec.
func (s *series) dryRun(ctx context.Context, w io.Writer) error {
	outline := s.kind.Outline()
	fmt.Fprint(w, outline)
	var first configuration
	for i, spec := range s.kind.Specs() {
		at, err := s.resolver.resolve(ctx, spec)
		if err != nil {
			return err
		}
		if i == 0 {
			first = at
		} else if at.cfg.Trials.Together {
			at.plan = at.plan.OffsetPorts(first.plan)
		}
		if outline != "" {
			fmt.Fprintf(w, "\n== %s\n", cmp.Or(spec.Name, "every trial"))
		}
		if err := at.plan.Print(w); err != nil {
			return err
		}
	}
	return nil
}

// largest is the configuration with the most places.
func (s *series) largest(ctx context.Context) (largest configuration, err error) {
	for _, spec := range s.kind.Specs() {
		at, err := s.resolver.resolve(ctx, spec)
		if err != nil {
			return at, err
		}
		if len(at.plan.Places) > len(largest.plan.Places) {
			largest = at
		}
	}
	return largest, nil
}

// run makes the trials that are left after those that are done, and concludes.
func (s *series) run(ctx context.Context, done []experiment.Trial) error {
	s.began = time.Now()
	done, err := experiment.Runner{Next: s.kind, Make: s.make, Keep: func(done []experiment.Trial) error { return s.keep(done, false) }}.Run(ctx, done)
	return s.conclude(done, err)
}

// make makes the trials of a group.
func (s *series) make(ctx context.Context, group experiment.Group) ([]experiment.Trial, error) {
	var trials []groupedTrial
	for _, p := range group {
		at, err := s.resolver.resolve(ctx, p.Spec)
		if err != nil {
			return nil, err
		}
		t := groupedTrial{at: at, variant: p.Variant, dir: folder(s.dir.path(p.Folder()))}
		if err := t.dir.clear(); err != nil {
			return nil, err
		}
		t.run = metrics.Run{ID: s.dir.id() + "/" + p.Folder(), GitCommit: at.commit, Command: s.command}
		fmt.Fprintln(s.l.Stderr, strings.Join(format.NonEmpty(p.String(), p.Label, s.timeLeft(p.Of-p.Number+1)), ", "))
		trials = append(trials, t)
	}
	runs, errs := s.l.runGroup(ctx, trials)
	if err := errors.Join(errs...); errors.Is(err, plan.ErrInterrupted) {
		return nil, plan.ErrInterrupted
	}
	var made []experiment.Trial
	for i, p := range group {
		trial := experiment.Trial{Trial: metrics.TrialOf(p.PlannedTrial, p.Folder(), runs[i]), Of: p.Of, Label: p.Label, Run: runs[i]}
		if line := s.kind.Record(&trial); line != "" {
			fmt.Fprintln(s.l.Stdout, line)
		}
		made = append(made, trial)
	}
	s.made += len(made)
	return made, nil
}

// timeLeft says how long a number of trials may take, by those made so far; "" before
// the first.
func (s *series) timeLeft(trials int) string {
	if s.made == 0 || trials < 1 {
		return ""
	}
	left := time.Since(s.began) / time.Duration(s.made) * time.Duration(trials)
	switch {
	case left < 100*time.Second:
		return fmt.Sprintf("about %.0f s left", left.Seconds())
	case left < 100*time.Minute:
		return fmt.Sprintf("about %.0f min left", left.Minutes())
	}
	return fmt.Sprintf("about %.1f h left", left.Hours())
}

// keep writes the experiment's files.
func (s *series) keep(done []experiment.Trial, ended bool) error {
	files, err := s.kind.Files(done, ended)
	for name, value := range files {
		if text, ok := value.([]byte); ok {
			err = errors.Join(err, s.dir.write(name, text))
		} else {
			err = errors.Join(err, s.dir.writeJSON(name, value))
		}
	}
	return err
}

// conclude writes the files of the end and the figures, and prints the result, the
// verdict last.
func (s *series) conclude(done []experiment.Trial, err error) error {
	if errors.Is(err, context.Canceled) {
		err = plan.ErrInterrupted
	}
	err = cmp.Or(err, s.keep(done, true))
	if s.draws && len(done) > 0 && !errors.Is(err, plan.ErrInterrupted) {
		s.l.picture(s.l.drawMany, s.dir)
	}
	text, verdict := s.kind.Conclude(done, err)
	var failed *experiment.TrialError
	if err != nil && !errors.As(err, &failed) {
		verdict = verdictOf(err)
		if s.resumes {
			s.explainResume(done)
		}
	}
	return s.l.finish(text, s.dir, verdict, err)
}

// explainResume says how the experiment goes on.
func (s *series) explainResume(done []experiment.Trial) {
	left := 0
	groups, _ := s.kind.Next(done)
	for _, group := range groups {
		left += len(group)
	}
	fmt.Fprintf(s.l.Stderr, "%s finished, %d to go; go on with: run-cluster.sh --resume %s\n", format.Plural(len(done), "trial"), left, format.QuoteWord(string(s.dir)))
}

// finished are the trials of an earlier launcher, with the runs of the valid ones.
func finished(dir folder, trials []metrics.Trial) ([]experiment.Trial, error) {
	var done []experiment.Trial
	for _, trial := range trials {
		t := experiment.Trial{Trial: trial}
		if trial.Verdict.Valid {
			text, err := os.ReadFile(filepath.Join(string(dir), trial.Folder, "run.json"))
			if err != nil {
				return nil, err
			}
			if err := json.Unmarshal(text, &t.Run); err != nil {
				return nil, fmt.Errorf("%s/run.json: %w", trial.Folder, err)
			}
		}
		done = append(done, t)
	}
	return done, nil
}
