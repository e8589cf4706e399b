// Package experiment decides which trials are made, in which order, and when to stop,
// and reports their results. It starts no process: a Runner has a func that makes
// trials.
package experiment

import (
	"context"
	"fmt"
	"slices"

	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
)

// Spec holds a trial's own settings, in addition to the command line that all trials of
// the experiment share.
type Spec struct {
	Name  string    // for people, such as batch=64; may be empty
	Args  string    // launcher flags as typed, such as `--client-args "-batch 64"`; commit:REV may come first
	Set   []Setting // values of knobs
	Where string    // what of the command line an error names, such as "--sweep batch=64"; may be empty
}

// Setting is the value of one knob: nodes, servers, clients, or a flag of a program.
type Setting struct{ Name, Value string }

// PlannedTrial is a trial to be made.
type PlannedTrial struct {
	metrics.PlannedTrial
	Of      int    // number of trials in the experiment; 0 if unknown
	Attempt int    // at this trial, from 1; set by Run
	Label   string // the trial's purpose; may be empty
	Told    string // what the progress line says in place of the trial's number; may be empty
	Quiet   bool   // a VALID trial's line is printed with -v only
	Variant string // which of a pair, A or B; empty outside of pairs
	Spec    Spec
}

// Folder returns the name of the trial's folder: trial-003, and trial-003-2 when it is made
// again.
func (p PlannedTrial) Folder() string {
	if p.Attempt > 1 {
		return fmt.Sprintf("trial-%03d-%d", p.Number, p.Attempt)
	}
	return fmt.Sprintf("trial-%03d", p.Number)
}

// String returns the trial's place in the experiment: "trial 3/12".
func (p PlannedTrial) String() string {
	text := fmt.Sprintf("trial %d", p.Number)
	if p.Of > 0 {
		text += fmt.Sprintf("/%d", p.Of)
	}
	if p.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", p.Attempt)
	}
	return text
}

// Group holds trials that run at the same time: one, or a pair.
type Group []PlannedTrial

// After numbers the attempts at the group's trials that follow those in done, and returns the
// group.
func (g Group) After(done []metrics.Trial) Group {
	for i := range g {
		if at := slices.IndexFunc(done, func(t metrics.Trial) bool { return t.Number == g[i].Number }); at >= 0 {
			g[i].Attempt = len(done[at].Earlier) + 2
		}
	}
	return g
}

// Next chooses the trials.
type Next interface {
	// Next returns the groups that remain after the trials in done, if they are known
	// already; none at the end. It depends only on done and the experiment's seed, so that
	// a resumed experiment continues where it was interrupted.
	Next(done []metrics.Trial) ([]Group, error)
}

// Experiment is a Next that records and reports its trials.
type Experiment interface {
	Next
	// Specs returns the specs that are known before the first trial.
	Specs() []Spec
	// Outline returns the order of the trials, for --dry-run; "" if all trials have one spec.
	Outline() string
	// Record completes the record of a trial, and returns a line about it, or "".
	Record(PlannedTrial, *metrics.Trial) string
	// Files returns the files of the experiment's folder by name: a []byte is a file's
	// content, any other value is written as JSON. After ended no trial follows. An
	// experiment that has files before its end can be continued.
	Files(done []metrics.Trial, ended bool) map[string]any
	// Conclude returns the result. It is partial if err, which may wrap context.Canceled,
	// ended the experiment.
	Conclude(done []metrics.Trial, err error) Conclusion
}

// Conclusion is the result of an experiment.
type Conclusion struct {
	Brief   string          // the result for people; may be empty
	Full    string          // the same with every figure, for -v
	Verdict metrics.Verdict // zero if an error ended the experiment, unless a trial is to blame
	Answer  answer.Answer   // zero if Brief is the answer, or if there is none
	Drawn   bool            // the folder has figures and a report
}

// trialError is a failed trial that ends an experiment.
type trialError struct {
	metrics.Trial
	label string
}

func (e *trialError) Error() string { return fmt.Sprintf("%s: verdict %s", e.Folder, e.Verdict) }

// Run makes the trials that next chooses after those in done, and returns all finished
// trials. A trial with the number of one in done is another attempt at it. make makes the
// trials of a group, stores them, and returns done with them. The error is next's, the
// context's or make's.
func Run(ctx context.Context, next Next, done []metrics.Trial, make func([]metrics.Trial, Group) ([]metrics.Trial, error)) ([]metrics.Trial, error) {
	for {
		groups, err := next.Next(done)
		if err != nil || len(groups) == 0 {
			return done, err
		}
		if err = ctx.Err(); err == nil {
			done, err = make(done, groups[0].After(done))
		}
		if err != nil {
			return done, err
		}
	}
}
