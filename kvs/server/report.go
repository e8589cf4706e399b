package server

import (
	"fmt"
	"slices"
	"strings"

	"kvlab/kvs/wire"
	"kvlab/metrics"
)

// log writes an interval to the log, in the labs' form. Under a launcher only
// the window's seconds are logged so, because the labs' report-tput.py takes
// the median of every such line.
func (s *server) log(i metrics.Interval, _ metrics.Usage) error {
	if s.config.Codec == wire.RawCodec {
		return nil // no operations
	}
	if i.Phase == metrics.Window || !s.node.Controlled() {
		fmt.Fprint(s.node, i.Lines())
	} else if i.Counts.Ops() > 0 {
		s.node.Logf("%s: %s operations per second", i.Phase, metrics.Count(i.OpsPerS()))
	}
	return nil
}

// summarize reports the server's whole life, after its last connection ended.
func (s *server) summarize() error {
	last := s.reporter.Cut
	if !s.node.Controlled() {
		last = func() error { return s.reporter.Enter(metrics.Done) }
	}
	if err := last(); err != nil {
		return err
	}
	window := s.reporter.Window()
	summary := metrics.Summary{
		WindowStart:   window.Start,
		WindowLengthS: window.LengthS,
		Total:         s.counts(),
		InWindow:      window.Counts,
		Usage:         window.Table,
	}
	for peer, counts := range s.service.Counts() {
		summary.Peers = append(summary.Peers, metrics.PeerCounts{Peer: peer, Counts: metrics.Counts(counts)})
	}
	slices.SortFunc(summary.Peers, func(a, b metrics.PeerCounts) int { return strings.Compare(a.Peer, b.Peer) })
	s.node.Logf("applied %d operations: %d get, %d put, %d read-modify-write; %d hit, %d missed", summary.Total.Ops(),
		summary.Total.Gets, summary.Total.Puts, summary.Total.ReadModifyWrites, summary.Total.Hits, summary.Total.Misses)
	if window.LengthS > 0 {
		fmt.Fprint(s.node, window.Table.Text("SERVER"))
	}
	return s.node.Report(metrics.Record{Summary: &summary})
}
