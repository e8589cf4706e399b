package loadgen

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"

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
	info := g.driver.Info()
	s := metrics.Summary{
		WindowStart:   g.opened,
		WindowLengthS: g.length.Seconds(),
		Total:         g.Counts(),
		Latency:       g.latency.Window.Quantiles(),
	}
	for i, server := range g.workers[0].servers {
		peer := metrics.PeerCounts{Peer: server.Name}
		for _, w := range g.workers {
			peer.Counts = peer.Counts.Add(w.counts[i])
			peer.Load = peer.Load.Add(w.loaded[i])
			peer.Audit = peer.Audit.Add(w.auditCounts[i])
			peer.Window = peer.Window.Add(w.window[i])
			peer.Unknown = peer.Unknown.Add(w.unknown[i])
		}
		if info.FirstReplies != nil {
			peer.FirstReply = info.FirstReplies[i]
		}
		peer.Latency = g.latency.Tally(i)
		s.Peers = append(s.Peers, peer)
	}
	var boundaries boundaryCounts
	for _, w := range g.workers {
		for i, n := range w.boundaries {
			boundaries[i] += n
		}
		s.InWindow = s.InWindow.Add(sum(w.window))
		s.Bytes = s.Bytes.Add(w.bytes)
		s.BytesInWindow = s.BytesInWindow.Add(w.carried)
		s.Verification.Add(w.verify)
		s.Digests = append(s.Digests, hex(w.source.Digest()))
	}
	const half = metrics.EdgeSlots
	s.Edges = &metrics.Edges{SlotS: g.edgeSlot().Seconds(), First: boundaries[:half], Last: boundaries[half:]}
	s.Retries, s.CacheBytes = info.Retries, info.CacheBytes
	if g.slices != nil {
		g.slices.Report(&s)
	}
	s.Prefixes = g.prefixDigests()
	s.Workers = g.accounts()
	s.Stamps = map[string]metrics.Stamps{
		metrics.CallLatency: g.summed(func(w *worker) *stamps { return &w.calls }),
		metrics.OpLatency:   g.summed(func(w *worker) *stamps { return &w.ops }),
	}
	s.Transactions = g.transactions(s.Peers)
	s.Offered = g.offered
	metrics.Refuse(s.Latency, s.Offered.Saturated(s.InWindow.Ops()))
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

// maxRedrawn is the number of first operations whose digest is checked. Fewer are
// checked if fewer are drawn, always a power of two.
const maxRedrawn = 8192

// accounts returns every worker's account of its operations. A new plan draws the first
// operations again, independent of faults in the workers' plan and sources.
func (g *Generator) accounts() (accounts []metrics.WorkerAccount) {
	plan, err := workload.New(g.config.Workload)
	if err != nil {
		return nil // never: New made one of the same configuration
	}
	var ops [maxRedrawn]workload.Op
	for _, w := range g.workers {
		if g.offered != nil {
			w.sums.Dues = hex(w.dues)
		}
		first, digest := 0, uint64(0)
		for k, prefix := range w.source.Prefixes() {
			if 1<<k <= maxRedrawn {
				first, digest = 1<<k, prefix
			}
		}
		again := plan.Source(g.config.place(w.id))
		again.Fill(ops[:first])
		accounts = append(accounts, metrics.WorkerAccount{
			Loaded: sum(w.loaded).Ops(), Audited: sum(w.auditCounts).Ops() + w.lostSpots, Drawn: w.source.Drawn(), Verified: sum(w.counts).Ops(), Unknown: sum(w.unknown).Ops(),
			OpeningOps: uint64(first), Opening: hex(digest), Redrawn: hex(again.Digest()), Rounds: &w.sums,
		})
	}
	return accounts
}

func hex(digest uint64) string { return fmt.Sprintf("%016x", digest) }

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
		digests[k] = hex(all.Sum64())
	}
	return digests
}
