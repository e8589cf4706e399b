package plan

import (
	"errors"

	"kvlab/metrics"
)

// Fault is why a run ends early, and the node that is the cause.
type Fault struct {
	Node   string
	Role   metrics.Role
	Reason string
	Kind   Kind
}

// Error is the reason with its node.
func (f *Fault) Error() string {
	if f.Node == "" {
		return f.Reason
	}
	return f.Node + ": " + f.Reason
}

// CloserThan reports whether f explains more than g.
func (f *Fault) CloserThan(g *Fault) bool {
	if f.Kind != g.Kind {
		return f.Kind > g.Kind
	}
	return f.Role == metrics.Server && g.Role == metrics.Client
}

// Kind orders faults by how close to the root of the trouble they are:
// when a server is killed, its clients complain as well.
type Kind int

// The kinds of faults.
const (
	Complaint Kind = iota // the node says, or shows, that it cannot go on
	Crash                 // the node's process has ended without a word
	Hang                  // the node is there, and does nothing
	BadArgs               // the node refuses its command line
)

// ErrInterrupted means that the user has ended the run.
var ErrInterrupted = errors.New("interrupted")
