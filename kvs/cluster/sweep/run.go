package sweep

import (
	"context"

	"kvlab/metrics"
)

// Runner makes the trials of a plan one after another, or pair after pair where those
// of a pair are made at the same time.
type Runner struct {
	Plan metrics.Sweep
	// Trials makes a trial, or those of a pair. left is how many there are, with these.
	// An error means that there is none to keep: they were interrupted.
	Trials func(ctx context.Context, planned []metrics.Planned, left int) ([]metrics.Trial, error)
	// Keep stores all trials so far. After an error of it no further is made.
	Keep func([]metrics.Trial) error
}

// Run makes what is left after the trials that are done, and returns all that
// are done then. Its error is the context's, Trial's or Keep's.
func (r Runner) Run(ctx context.Context, done []metrics.Trial) ([]metrics.Trial, error) {
	at := 1
	if r.Plan.Together {
		at = len(metrics.SideNames)
	}
	for {
		left := Next(r.Plan, done)
		if len(left) == 0 {
			return done, nil
		}
		if err := ctx.Err(); err != nil {
			return done, err
		}
		made, err := r.Trials(ctx, left[:min(at, len(left))], len(left))
		if err != nil {
			return done, err
		}
		done = append(done, made...)
		if err := r.Keep(done); err != nil {
			return done, err
		}
	}
}
