package loadgen

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"sync"

	"kvlab/metrics"
	"kvlab/metrics/latency"
	"kvlab/workload"
)

// Counts returns the numbers of operations verified so far.
func (g *Generator) Counts() metrics.Counts {
	var all metrics.Counts
	for _, w := range g.workers {
		w.mu.Lock()
		all = all.Add(sum(w.counts))
		w.mu.Unlock()
	}
	return all
}

func sum(counts []metrics.Counts) (all metrics.Counts) {
	for _, c := range counts {
		all = all.Add(c)
	}
	return all
}

// Latency returns the collector that the workers record into. The caller calls its
// Collect once a second and once at the end.
func (g *Generator) Latency() *latency.Collector { return g.latency }

// Summary summarizes the run, except for the usage table. It is called after Measure
// and the last Collect.
func (g *Generator) Summary() metrics.Summary {
	s := metrics.Summary{
		WindowStart:   g.opened,
		WindowLengthS: g.config.Window.Seconds(),
		Total:         g.Counts(),
		Edges:         g.boundaryCounts(),
		Latency:       g.latency.Quantiles(),
	}
	for i, server := range g.workers[0].servers {
		peer := metrics.PeerCounts{Peer: server.Name}
		for _, w := range g.workers {
			peer.Counts = peer.Counts.Add(w.counts[i])
			peer.Load = peer.Load.Add(w.loaded[i])
		}
		s.Peers = append(s.Peers, peer)
	}
	for _, w := range g.workers {
		s.InWindow = s.InWindow.Add(w.window)
		s.Bytes = s.Bytes.Add(w.bytes)
		s.BytesInWindow = s.BytesInWindow.Add(w.carried)
		s.Verification.Add(w.verify)
		s.Digests = append(s.Digests, fmt.Sprintf("%016x", w.source.Digest()))
	}
	s.Retries = g.driver.Info().Retries
	if g.slices != nil {
		found := g.slices.Found()
		s.Check = &found
	}
	s.Prefixes = g.prefixDigests()
	s.Workers = g.accounts()
	if g.offered != nil {
		s.Offered = g.offered
		if why := s.Offered.Saturated(s.InWindow.Ops()); why != "" {
			metrics.Refuse(s.Latency, why)
		}
	}
	return s
}

// Violation returns the first history whose verdict is Illegal or Unknown, or nil. It
// is called after Measure.
func (g *Generator) Violation() *metrics.Violation {
	if g.slices == nil {
		return nil
	}
	return g.slices.Violation()
}

// firstOps identifies the operations of a worker's first rounds: their number, and
// their digest.
type firstOps struct{ drawn, digest uint64 }

// minFirstOps is the least number of firstOps. A round of -batch auto may have one
// operation, which many workers share.
const minFirstOps = 1024

// note updates the digest until minFirstOps operations are drawn.
func (o *firstOps) note(s *workload.Source) {
	if o.drawn < minFirstOps {
		*o = firstOps{s.Drawn(), s.Digest()}
	}
}

// accounts returns every worker's account of its operations. A new plan draws the first
// operations again, independent of faults in the workers' plan and sources.
func (g *Generator) accounts() []metrics.WorkerAccount {
	accounts := make([]metrics.WorkerAccount, len(g.workers))
	plan, err := workload.New(g.config.Workload)
	if err != nil {
		return nil // never: New made one of the same configuration
	}
	var group sync.WaitGroup
	for i, w := range g.workers {
		group.Go(func() { accounts[i] = w.account(plan.Source(g.config.Index, w.id)) })
	}
	group.Wait()
	return accounts
}

// account returns the worker's account, given a new source of its operations.
func (w *worker) account(again *workload.Source) metrics.WorkerAccount {
	ops := make([]workload.Op, drawn)
	for left := w.firstOps.drawn; left > 0; {
		n := min(left, drawn)
		again.Fill(ops[:n])
		left -= n
	}
	return metrics.WorkerAccount{
		Loaded: sum(w.loaded).Ops(), Drawn: w.source.Drawn(), Verified: sum(w.counts).Ops(),
		OpeningOps: w.firstOps.drawn,
		Opening:    fmt.Sprintf("%016x", w.firstOps.digest), Redrawn: fmt.Sprintf("%016x", again.Digest()),
	}
}

// prefixDigests returns digests of the first 1, 2, 4, ... operations of all workers, up
// to the number that every worker has drawn. If digests number k of two clients are
// equal, so are the first 2^k operations of each worker. A digest is the FNV-1a hash of
// the workers' digests, in worker order.
func (g *Generator) prefixDigests() []string {
	shortest := math.MaxInt
	for _, w := range g.workers {
		shortest = min(shortest, len(w.source.Prefixes()))
	}
	digests := make([]string, shortest)
	for k := range digests {
		all := fnv.New64a()
		for _, w := range g.workers {
			_ = binary.Write(all, binary.LittleEndian, w.source.Prefixes()[k]) // a hash returns no error
		}
		digests[k] = fmt.Sprintf("%016x", all.Sum64())
	}
	return digests
}
