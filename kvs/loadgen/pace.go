package loadgen

import (
	"sync/atomic"
	"time"

	"kvlab/metrics"
	"kvlab/workload"
)

// paceEvery is the interval at which settle looks whether all workers have made their rounds.
const paceEvery = 10 * time.Millisecond

// saysMuch is the least time that a load must take before its speed tells how long a round
// takes: a shorter load may have waited for a processor, or for one call of each worker.
const saysMuch = time.Second

// RoundAfter estimates how long a round of all workers takes, from the times in which this
// client's records were stored and read back. It returns 0 if these were too short, or if a
// round has no fixed number of operations, or has transactions.
func (g *Generator) RoundAfter(store, read time.Duration) time.Duration {
	c := g.config
	if c.AutoBatch || c.Txn > 0 || c.BatchBytes > 0 || c.Rate.Open() || c.Workload.Replay != "" || store+read < saysMuch {
		return 0
	}
	scans := c.Workload.Share(workload.Scan)
	writes := 1 - scans - c.Workload.Share(workload.Read)
	mean := writes*float64(store) + (1-writes+scans*float64(c.pairs())/2)*float64(read) // a scan reads half of the longest
	ops := c.Batch * c.Servers() * c.Workers * c.InFlight
	return time.Duration(mean * float64(ops) / float64(max(1, g.Counts().Puts)))
}

// pace holds how long a worker's rounds take. The worker adds a round when it has ended; any
// goroutine reads it.
type pace struct {
	ended  atomic.Int64                           // rounds
	recent [metrics.WarmUpRounds - 1]atomic.Int64 // lengths of the latest rounds, in ns: after WarmUpRounds without the first, which touches new memory
	latest atomic.Int64                           // moment of the last end; before the first, of the beginning
}

func (p *pace) begin() {
	p.ended.Store(0)
	for i := range p.recent {
		p.recent[i].Store(0)
	}
	p.latest.Store(int64(now()))
}

func (p *pace) add(r *round, ended moment) {
	n := p.ended.Load()
	p.recent[n%int64(len(p.recent))].Store(int64(ended - r.begun))
	p.latest.Store(int64(ended))
	p.ended.Store(n + 1)
}

// warm reports whether every worker has made WarmUpRounds for each round that it keeps in
// flight.
func (g *Generator) warm() bool {
	for _, w := range g.workers {
		if w.pace.ended.Load() < int64(metrics.WarmUpRounds*len(w.rounds)) {
			return false
		}
	}
	return true
}

// longestRound returns the length of the longest among all workers' latest rounds and the
// rounds in flight.
func (g *Generator) longestRound() (longest time.Duration) {
	for _, w := range g.workers {
		for i := range w.pace.recent {
			longest = max(longest, time.Duration(w.pace.recent[i].Load()))
		}
		longest = max(longest, now()-moment(w.pace.latest.Load()))
	}
	return longest
}
