// Package experiment decides which trials are made, in which order, and when to stop,
// and says what their results are. It starts no process: a Runner is given a func that
// makes trials.
package experiment

import (
	"fmt"

	"kvlab/metrics"
)

// Spec is what a trial has of its own, beside the command line that all trials of the
// experiment share.
type Spec struct {
	Name string    // for people, such as batch=64; may be empty
	Args string    // launcher flags as typed, such as `--client-args "-batch 64"`, or commit:REV in front of them
	Set  []Setting // values of knobs
}

// Setting is the value of one knob: nodes, servers, clients, or a flag of the nodes'
// programs.
type Setting struct{ Name, Value string }

// PlannedTrial is a trial to be made.
type PlannedTrial struct {
	metrics.PlannedTrial
	Of      int    // number of trials in the experiment; 0 if it is not known
	Label   string // what the trial is for; may be empty
	Variant string // which of a pair, A or B; empty outside of pairs
	Spec    Spec
}

// Folder is the name of the trial's folder.
func (p PlannedTrial) Folder() string { return fmt.Sprintf("trial-%03d", p.Number) }

// String is the trial's place in the experiment: "trial 3/12".
func (p PlannedTrial) String() string {
	if p.Of == 0 {
		return fmt.Sprintf("trial %d", p.Number)
	}
	return fmt.Sprintf("trial %d/%d", p.Number, p.Of)
}

// Group is trials that run at the same time: one, or a pair.
type Group []PlannedTrial

// Trial is a finished trial.
type Trial struct {
	metrics.Trial
	Of    int         // as in PlannedTrial
	Label string      // likewise
	Run   metrics.Run // of a trial of an earlier launcher, only if it is VALID
}

// Next says what is still to be made.
type Next interface {
	// Next returns the groups that are still to be made after the trials that are
	// done, as far as that is known yet; none at the end. It depends on nothing but
	// done and the experiment's seed, so that a resumed experiment goes on where it
	// was interrupted.
	Next(done []Trial) ([]Group, error)
}

// Experiment is a Next that knows what to keep and to say of its trials.
type Experiment interface {
	Next
	// Specs are what the experiment may run, as far as that is known before the
	// first trial. There is one at least.
	Specs() []Spec
	// Outline is the order of the trials, if it is known, for --dry-run.
	Outline() string
	// Record completes the record of a trial, and returns the line about it, if any.
	Record(*Trial) string
	// Files returns what the experiment's folder holds by the names of the files: a
	// []byte is a file's content, any other value is written as JSON. ended says
	// that no further trial follows.
	Files(done []Trial, ended bool) (map[string]any, error)
	// Conclude returns the result in words, and the verdict. It is partial if err
	// ended the experiment.
	Conclude(done []Trial, err error) (string, metrics.Verdict)
}

var _ Experiment = Sweep{}

// TrialError is a trial without which an experiment cannot go on.
type TrialError struct{ Trial Trial }

func (e *TrialError) Error() string {
	return fmt.Sprintf("%s: verdict %s", e.Trial.Folder, e.Trial.Verdict)
}

// records are the trials as trials.json has them.
func records(trials []Trial) []metrics.Trial {
	var records []metrics.Trial
	for _, trial := range trials {
		records = append(records, trial.Trial)
	}
	return records
}
