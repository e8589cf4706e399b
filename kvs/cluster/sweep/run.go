package sweep

import (
	"context"

	"kvlab/metrics"
)

// Runner makes the trials of a plan one after another.
type Runner struct {
	Plan metrics.Sweep
	// Trial makes one trial. left is how many there are, with this one. An error
	// means that there is no trial to keep: it was interrupted.
	Trial func(ctx context.Context, planned metrics.Planned, left int) (metrics.Trial, error)
	// Keep stores all trials so far. After an error of it no further is made.
	Keep func([]metrics.Trial) error
}

// Run makes what is left after the trials that are done, and returns all that
// are done then. Its error is the context's, Trial's or Keep's.
func (r Runner) Run(ctx context.Context, done []metrics.Trial) ([]metrics.Trial, error) {
	for {
		left := Next(r.Plan, done)
		if len(left) == 0 {
			return done, nil
		}
		if err := ctx.Err(); err != nil {
			return done, err
		}
		trial, err := r.Trial(ctx, left[0], len(left))
		if err != nil {
			return done, err
		}
		done = append(done, trial)
		if err := r.Keep(done); err != nil {
			return done, err
		}
	}
}
