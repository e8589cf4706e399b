package server

import (
	"bytes"
	"compress/flate"
	"fmt"
	"slices"
	"strings"

	"kvlab/kvs/node"
	"kvlab/kvs/service"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// logTo returns a function that logs an interval in the labs' form. Under a launcher only
// the window's seconds have that form, because the labs' report-tput.py takes the median of
// all such lines.
func logTo(n *node.Node) func(metrics.Interval, metrics.Usage) error {
	return func(i metrics.Interval, _ metrics.Usage) error {
		if i.Phase == metrics.Window || !n.Controlled() {
			fmt.Fprint(n, i.Lines())
		} else if i.Counts.Ops() > 0 {
			n.Logf("%s: %s operations per second", i.Phase, format.Count(i.OpsPerS()))
		}
		return nil
	}
}

// log returns a function that logs an interval, and in the window what transactions did in it.
func (s *server) log(ops func(metrics.Interval, metrics.Usage) error) func(metrics.Interval, metrics.Usage) error {
	var before metrics.TransactionTally
	return func(i metrics.Interval, u metrics.Usage) error {
		var now metrics.TransactionTally
		for _, tally := range s.service.Tallies() {
			now = now.Add(tally)
		}
		if now != before && (i.Phase == metrics.Window || !s.node.Controlled()) {
			fmt.Fprint(s.node, now.Lines(before, i.LengthS))
		}
		before = now
		return ops(i, u)
	}
}

// end ends the last interval of a server that reports its totals. Without a launcher that is
// the window's end.
func end(n *node.Node, r *node.Reporter, enter func(metrics.Phase) error) error {
	if n.Controlled() {
		return r.Cut()
	}
	return enter(metrics.Done)
}

// summarize reports the totals, after the last connection has ended.
func (s *server) summarize() error {
	if err := end(s.node, s.reporter, s.enter); err != nil {
		return err
	}
	summary := s.reporter.Window()
	summary.Total, summary.Seen = s.counts(), Seen(s.service, s.before, s.window)
	summary.Opening, summary.Closing = s.opening, s.closing
	summary.Peers = Peers(s.service)
	if counts := s.service.ThirdParties(); s.thirdParty {
		summary.Strangers = &counts
		s.node.Logf("applied %d operations of third-party clients at the gateway: %s", counts.Ops(), counts.KindText())
	}
	for _, add := range s.summarizers {
		add(&summary)
	}
	if connections, calls := s.service.Retries(); connections > 0 {
		summary.Retries = &metrics.Retries{Remembered: calls}
		s.node.Logf("clients reconnected %d times; %d repeated calls were answered from the reply cache", connections, calls)
	}
	s.node.Logf("applied %d operations: %s; %d hit, %d missed", summary.Total.Ops(),
		summary.Total.KindText(), summary.Total.Hits, summary.Total.Misses)
	if summary.WindowLengthS > 0 {
		fmt.Fprint(s.node, summary.Usage.Text("SERVER"))
	}
	return s.node.Report(metrics.Record{Summary: &summary})
}

// Peers returns what a server applied for each of its clients, in the order of their names.
func Peers(service *service.Service) (peers []metrics.PeerCounts) {
	tallies := service.Tallies()
	for peer, counts := range service.Counts() {
		peers = append(peers, metrics.PeerCounts{Peer: peer, Counts: counts, Sessions: service.Sessions(peer), Transactions: tallies[peer]})
	}
	slices.SortFunc(peers, func(a, b metrics.PeerCounts) int { return strings.Compare(a.Peer, b.Peer) })
	return peers
}

// enter begins a phase. No sample of operations spans the window's edges.
func (s *server) enter(phase metrics.Phase) error {
	switch sample := s.service.Sample(); {
	case s.inWindow:
		s.window, s.inWindow = sample, false
		s.closing = s.marks.record()
	case phase == metrics.Window:
		if s.injected != nil {
			s.injected.Begin()
		}
		s.before, s.inWindow = sample, true
		s.opening = s.marks.record()
	}
	return s.reporter.Enter(phase)
}

// busiest is how many cells of keys a server reports: more than the hot records that
// verdict asks for.
const busiest = 32

// Seen returns what a server observed of its operations. The samples before the window
// and in it may be nil.
func Seen(service *service.Service, before, window *service.Sample) *metrics.Seen {
	seen := &metrics.Seen{Records: uint64(service.Records())}
	if window != nil {
		seen.Groups, seen.Values, seen.Busiest = window.Groups(), values(window), window.Busiest(busiest)
		seen.Keys, seen.Writes = window.Keys(), window.Writes()
		seen.Pairs, seen.EqualPairs = window.Pairs()
	}
	if before != nil {
		seen.Before = values(before)
	}
	return seen
}

// values returns the values of a sample, and their length after DEFLATE.
func values(sample *service.Sample) metrics.Values {
	count, all := sample.Values()
	var out bytes.Buffer
	// No error is possible: the level is valid, and a buffer accepts all.
	w, _ := flate.NewWriter(&out, flate.DefaultCompression)
	_, _ = w.Write(all)
	_ = w.Close()
	return metrics.Values{Count: uint64(count), Bytes: uint64(len(all)), Compressed: uint64(out.Len())}
}
