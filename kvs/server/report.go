package server

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kvlab/metrics"
)

// tick reports the second that has passed: to the .jsonl as records, to the log
// in the labs' form. Under a launcher only the window's seconds are logged so,
// because the labs' report-tput.py takes the median of every such line.
func (s *server) tick() error {
	s.mu.Lock()
	phase := s.phase
	s.mu.Unlock()
	now, total := time.Now(), s.counts()
	i := metrics.Interval{
		Phase:   phase,
		StartS:  s.lastEnd.Sub(s.started).Seconds(),
		LengthS: now.Sub(s.lastEnd).Seconds(),
		Counts:  total.Sub(s.last),
	}
	s.last, s.lastEnd = total, now
	if err := s.node.Report(metrics.Record{Interval: &i}); err != nil {
		return err
	}
	if phase == metrics.Window || !s.node.Controlled() {
		fmt.Fprint(s.node, i.Lines())
	} else if i.Counts.Ops() > 0 {
		s.node.Logf("%s: %s operations per second", phase, metrics.Count(i.OpsPerS()))
	}
	usage, err := s.sampler.Sample(phase)
	if err != nil {
		return err
	}
	return s.node.Report(metrics.Record{Usage: &usage})
}

// summarize reports the server's whole life, after its last connection ended.
func (s *server) summarize() error {
	if !s.node.Controlled() {
		if err := s.enter(metrics.Done); err != nil {
			return err
		}
	}
	summary := metrics.Summary{
		WindowStart:   s.windowOpen,
		WindowLengthS: s.windowS,
		Total:         s.counts(),
		InWindow:      s.inWindow,
		Usage:         s.table,
	}
	for peer, counts := range s.service.Counts() {
		summary.Peers = append(summary.Peers, metrics.PeerCounts{Peer: peer, Counts: metrics.Counts(counts)})
	}
	slices.SortFunc(summary.Peers, func(a, b metrics.PeerCounts) int { return strings.Compare(a.Peer, b.Peer) })
	s.node.Logf("applied %d operations: %d get, %d put, %d read-modify-write; %d hit, %d missed", summary.Total.Ops(),
		summary.Total.Gets, summary.Total.Puts, summary.Total.ReadModifyWrites, summary.Total.Hits, summary.Total.Misses)
	if s.windowS > 0 {
		fmt.Fprint(s.node, s.table.Text("SERVER"))
	}
	return s.node.Report(metrics.Record{Summary: &summary})
}
