package cluster

import (
	"context"
	"errors"
	"fmt"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
)

// Exit statuses of kvscluster.
const (
	exitInvalid     = 1 // the run failed, or its verdict is INVALID
	exitUsage       = 2 // the command line, a file it names or a node's arguments are wrong
	exitInterrupted = 130
)

// UsageError is a mistake in what the launcher was asked to do; nothing has
// been measured.
type UsageError struct{ Err error }

// Error says what is wrong and what the right form is.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap gives the mistake itself.
func (e *UsageError) Unwrap() error { return e.Err }

// InvalidError is a run that was begun and may not be believed. Its verdict has
// been printed already.
type InvalidError struct {
	Verdict metrics.Verdict
	Err     error // what ended the run early; nil for one that ran to its end
}

// Error is the verdict's line.
func (e *InvalidError) Error() string { return "verdict " + e.Verdict.String() }

// Unwrap gives what ended the run early.
func (e *InvalidError) Unwrap() error { return e.Err }

// RelayedError is the end of a launcher inside a virtual lab, which has printed
// all there is to say.
type RelayedError struct{ Status int }

// Error is the status.
func (e *RelayedError) Error() string { return fmt.Sprintf("exit status %d", e.Status) }

// ExitStatus is the launcher's exit status for what Run returned: 0 for a VALID
// run (and for --help and --dry-run), 1 for an INVALID or failed one, 2 for bad
// usage, 130 after an interrupt.
func ExitStatus(err error) int {
	var usage *UsageError
	var relayed *RelayedError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &relayed):
		return relayed.Status
	case errors.Is(err, plan.ErrInterrupted):
		return exitInterrupted
	case errors.As(err, &usage):
		return exitUsage
	}
	return exitInvalid
}

// explain adds to the error that has ended a run how its nodes' source has ended.
// Slurm also signals the launcher in a batch script when it ends the job, and that
// is no interrupt by the user.
func explain(ctx context.Context, source nodes.Source, err error) error {
	if err == nil || source == nil {
		return err
	}
	end, timeLimit := source.Ended(ctx)
	if end == "" {
		return err
	}
	ended := &plan.Fault{Reason: end}
	var f *plan.Fault
	switch {
	case errors.Is(err, plan.ErrInterrupted):
		return ended
	case errors.As(err, &f) && !timeLimit:
		ended.Node, ended.Reason = f.Node, end+": "+f.Reason
	}
	return errors.Join(ended, err)
}
