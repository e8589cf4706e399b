package loadgen

import (
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"kvlab/metrics"
	"kvlab/workload"
)

// opening is what a worker drew for its first rounds.
type opening struct{ drawn, digest uint64 }

// openingOps is when an opening is long enough: a round of -batch auto may be one
// operation, which many workers have in common.
const openingOps = 1024

// note remembers what has been drawn so far, until it is enough.
func (o *opening) note(s *workload.Source) {
	if o.drawn < openingOps {
		*o = opening{s.Drawn(), s.Digest()}
	}
}

// accounts returns every worker's account of its operations. The openings are
// drawn again by a plan of their own: what the workers' plan and sources have
// become since does not matter.
func (g *Generator) accounts() []metrics.WorkerCounts {
	accounts := make([]metrics.WorkerCounts, len(g.workers))
	plan, err := workload.New(g.config.Workload)
	if err != nil {
		return nil // New has made one of the same configuration
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, w := range g.workers {
		group.Go(func() error {
			accounts[i] = w.account(plan.Source(g.config.Index, w.id))
			return nil
		})
	}
	_ = group.Wait() // none fails
	return accounts
}

// account is the worker's own, given a new source of its operations.
func (w *worker) account(again *workload.Source) metrics.WorkerCounts {
	var all, load metrics.Counts
	for i := range w.counts {
		all = all.Add(w.counts[i])
		if w.loaded != nil {
			load = load.Add(w.loaded[i])
		}
	}
	ops := make([]workload.Op, drawn)
	for left := w.opening.drawn; left > 0; {
		n := min(left, drawn)
		again.Fill(ops[:n])
		left -= n
	}
	return metrics.WorkerCounts{
		Loaded: load.Ops(), Drawn: w.source.Drawn(), Verified: all.Ops(),
		OpeningOps: w.opening.drawn,
		Opening:    fmt.Sprintf("%016x", w.opening.digest), Redrawn: fmt.Sprintf("%016x", again.Digest()),
	}
}
