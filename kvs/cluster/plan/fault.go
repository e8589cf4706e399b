package plan

import (
	"context"

	"kvlab/metrics"
)

// Fault is the reason for a run's early end, and the node that caused it.
type Fault struct {
	Node   string
	Role   metrics.Role
	Reason string
	Kind   Kind

	// Outside says that the run broke for a reason outside of what it measures: no record
	// was loaded yet, the node cannot be reached, or somebody interrupted its process.
	Outside bool

	// Batch is the default of -batch with which the run is to be made again, as its own was
	// too large; 0 for none.
	Batch uint64
}

// Error returns the reason with its node.
func (f *Fault) Error() string {
	if f.Node == "" {
		return f.Reason
	}
	return f.Node + ": " + f.Reason
}

// CloserThan reports whether f is closer to the root cause than g.
func (f *Fault) CloserThan(g *Fault) bool {
	if f.Kind != g.Kind {
		return f.Kind > g.Kind
	}
	return f.Role == metrics.Server && g.Role == metrics.Client
}

// Kind orders faults by their distance to the root cause: when a server is killed, its
// clients fail as well.
type Kind int

// The kinds of faults.
const (
	Complaint Kind = iota // the node reports an error or breaks the protocol
	Crash                 // the node's process ended without a report
	Hang                  // the node runs but does not respond
	BadArgs               // the node rejects its command line
)

// String returns the kind's row in verdict's table of what ends a run.
func (k Kind) String() string {
	return [...]string{"complaint", "crash", "hang", "bad-args"}[k]
}

// OutsideCheck is the row of what breaks a run from outside.
const OutsideCheck = "outside"

// ErrInterrupted means that the user ended the run.
var ErrInterrupted error = interrupted{}

// interrupted is the end of a context, told to a user.
type interrupted struct{}

func (interrupted) Error() string { return "interrupted" }

func (interrupted) Unwrap() error { return context.Canceled }
