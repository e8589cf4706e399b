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

// UsageError is a mistake in the command line; nothing was measured.
type UsageError struct{ Err error }

// Error returns the mistake and the right form.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the mistake.
func (e *UsageError) Unwrap() error { return e.Err }

// InvalidError reports a run whose verdict is INVALID. The verdict has been printed.
type InvalidError struct {
	Verdict metrics.Verdict
	Err     error // what ended the run early; nil for one that ran to its end
}

// Error returns the verdict's line.
func (e *InvalidError) Error() string { return "verdict " + e.Verdict.String() }

// Unwrap returns the error that ended the run early.
func (e *InvalidError) Unwrap() error { return e.Err }

// RelayedError is the exit of a launcher inside a virtual lab, which has printed the
// reason.
type RelayedError struct{ Status int }

// Error returns the status.
func (e *RelayedError) Error() string { return fmt.Sprintf("exit status %d", e.Status) }

// ExitStatus returns the launcher's exit status for an error of Run: 0 for a VALID run
// (and for --help and --dry-run), 1 for an INVALID or failed one, 2 for bad usage, 130
// after an interrupt.
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

// explain adds the end of the nodes' source to the error that ended a run. When Slurm
// ends a job, it also signals the launcher in the batch script, which is no interrupt by
// the user.
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
