package cluster

import (
	"context"
	"errors"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
)

// Exit statuses of kvscluster.
const (
	exitInvalid     = 1 // the run failed, or its verdict is INVALID
	exitUsage       = 2 // the command line, a file it names or a node's arguments are wrong
	exitInterrupted = 130
)

// exitError is an error with its exit status.
type exitError struct {
	error
	status int
	shown  bool // the user knows the reason
}

// Unwrap returns the error without its status.
func (e *exitError) Unwrap() error { return e.error }

// usage marks a mistake in the command line; nothing was measured.
func usage(err error) error { return &exitError{error: err, status: exitUsage} }

// ExitStatus returns the launcher's exit status for an error of Run: 0 for a VALID run
// (and for --help and --dry-run), 1 for an INVALID or failed one, 2 for bad usage, 130
// after an interrupt.
func ExitStatus(err error) int {
	var exit *exitError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, plan.ErrInterrupted):
		return exitInterrupted
	case errors.As(err, &exit):
		return exit.status
	}
	return exitInvalid
}

// explain adds the end of the Slurm job, if it has ended, to the error that ended a run. When
// Slurm ends a job, it also signals the launcher in the batch script. That is no interrupt by
// the user.
func explain(ctx context.Context, job nodes.Slurm, p plan.Plan, err error) error {
	if err == nil || p.Places[0].Way.Kind != nodes.Srun {
		return err
	}
	end, timeLimit := job.Ended(ctx)
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
