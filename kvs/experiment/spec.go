// Package experiment decides which trials are made, in which order, and when to stop,
// and reports their results. It starts no process: a Runner has a func that makes
// trials.
package experiment

import (
	"context"
	"fmt"

	"kvlab/metrics"
)

// Spec holds a trial's own settings, in addition to the command line that all trials of
// the experiment share.
type Spec struct {
	Name string    // for people, such as batch=64; may be empty
	Args string    // launcher flags as typed, such as `--client-args "-batch 64"`; commit:REV may come first
	Set  []Setting // values of knobs
}

// Setting is the value of one knob: nodes, servers, clients, or a flag of a program.
type Setting struct{ Name, Value string }

// PlannedTrial is a trial to be made.
type PlannedTrial struct {
	metrics.PlannedTrial
	Of      int    // number of trials in the experiment; 0 if unknown
	Label   string // the trial's purpose; may be empty
	Variant string // which of a pair, A or B; empty outside of pairs
	Spec    Spec
}

// Folder returns the name of the trial's folder.
func (p PlannedTrial) Folder() string { return fmt.Sprintf("trial-%03d", p.Number) }

// String returns the trial's place in the experiment: "trial 3/12".
func (p PlannedTrial) String() string {
	if p.Of == 0 {
		return fmt.Sprintf("trial %d", p.Number)
	}
	return fmt.Sprintf("trial %d/%d", p.Number, p.Of)
}

// Group holds trials that run at the same time: one, or a pair.
type Group []PlannedTrial

// Trial is a finished trial.
type Trial struct {
	metrics.Trial
	Of    int         // as in PlannedTrial
	Label string      // likewise
	Run   metrics.Run // empty for an INVALID trial of an earlier launcher
}

// Next chooses the trials.
type Next interface {
	// Next returns the groups that remain after the trials in done, as far as they are
	// known yet; none at the end. It depends only on done and the experiment's seed, so
	// that a resumed experiment continues where it was interrupted.
	Next(done []Trial) ([]Group, error)
}

// Experiment is a Next that records and reports its trials.
type Experiment interface {
	Next
	// Specs returns the specs that are known before the first trial: at least one.
	Specs() []Spec
	// Outline returns the order of the trials for --dry-run, if it is known.
	Outline() string
	// Record completes the record of a trial, and returns a line about it, or "".
	Record(*Trial) string
	// Files returns the files of the experiment's folder by name: a []byte is a file's
	// content, any other value is written as JSON. After ended no trial follows.
	Files(done []Trial, ended bool) (map[string]any, error)
	// Conclude returns the result in words, and the verdict. The result is partial if
	// err ended the experiment; the verdict is then zero, unless a trial failed.
	Conclude(done []Trial, err error) (string, metrics.Verdict)
}

var _ Experiment = Sweep{}

// trialError is a failed trial that ends an experiment.
type trialError struct{ Trial Trial }

func (e *trialError) Error() string {
	return fmt.Sprintf("%s: verdict %s", e.Trial.Folder, e.Trial.Verdict)
}

// records returns the trials as trials.json has them.
func records(trials []Trial) []metrics.Trial {
	var records []metrics.Trial
	for _, trial := range trials {
		records = append(records, trial.Trial)
	}
	return records
}

// Runner makes the trials of an experiment, one group after another.
type Runner struct {
	Next Next
	// Make makes the trials of a group. After an error, such as an interrupt, there is
	// no trial to keep.
	Make func(context.Context, Group) ([]Trial, error)
	// Keep stores all trials so far. Its error ends the experiment.
	Keep func([]Trial) error
}

// Run makes the trials that remain after those in done, and returns all finished trials.
// Its error is the context's, Next's, Make's or Keep's.
func (r Runner) Run(ctx context.Context, done []Trial) ([]Trial, error) {
	for {
		groups, err := r.Next.Next(done)
		if err != nil || len(groups) == 0 {
			return done, err
		}
		if err := ctx.Err(); err != nil {
			return done, err
		}
		made, err := r.Make(ctx, groups[0])
		if err != nil {
			return done, err
		}
		done = append(done, made...)
		if err := r.Keep(done); err != nil {
			return done, err
		}
	}
}
