package experiment

import "context"

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
