package loadgen

import (
	"fmt"

	"kvlab/metrics"
	"kvlab/metrics/latency"
)

// Counts is the number of operations that have been verified so far.
func (g *Generator) Counts() metrics.Counts {
	var sum metrics.Counts
	for _, w := range g.workers {
		w.mu.Lock()
		for _, c := range w.counts {
			sum = sum.Add(c)
		}
		w.mu.Unlock()
	}
	return sum
}

// Latency is what the workers record into; its Collect is the caller's to call,
// once a second and once at the end.
func (g *Generator) Latency() *latency.Collector { return g.latency }

// Summary sums the run up, but for the usage table. It is for after Measure and
// the last Collect.
func (g *Generator) Summary() metrics.Summary {
	s := metrics.Summary{
		WindowStart:   g.opened,
		WindowLengthS: g.config.Window.Seconds(),
		Total:         g.Counts(),
		Edges:         g.edges(),
		Latency:       g.latency.Quantiles(),
	}
	for i, server := range g.workers[0].servers {
		peer := metrics.PeerCounts{Peer: server.Name}
		for _, w := range g.workers {
			peer.Counts = peer.Counts.Add(w.counts[i])
			if w.loaded != nil {
				peer.Load = peer.Load.Add(w.loaded[i])
			}
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
	s.Prefixes = g.prefixes()
	s.Workers = g.accounts()
	if g.offered != nil {
		s.Offered = g.offered
		if why := s.Offered.Saturated(s.InWindow.Ops()); why != "" {
			metrics.Refuse(s.Latency, why)
		}
	}
	return s
}

// Violation is the first history that is not linearizable, or not certainly; nil
// when there is none. It is called after Measure.
func (g *Generator) Violation() *metrics.Violation {
	if g.slices == nil {
		return nil
	}
	return g.slices.Violation()
}
