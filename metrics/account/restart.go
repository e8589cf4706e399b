package account

import (
	"time"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// The clients may count an operation some time before or after the server reports it, beside
// the length of their intervals.
const (
	countedBefore = 100 * time.Millisecond // clocks differ
	countedAfter  = 500 * time.Millisecond // a client that waits for a processor reads its last replies late
)

// restarted returns what the restart of a server cost, of a run that the clients have ended;
// nil without one.
func (n *Reported) restarted(name string, clients []*Reported) *metrics.Restart {
	if n.ready.IsZero() {
		return nil
	}
	opens, closes, replied := time.Time{}, time.Time{}, time.Time{}
	found := &metrics.Restart{Server: name, ReadyS: n.ready.Sub(n.killed).Seconds(), Reported: n.former.Counts}
	for _, client := range clients {
		s := client.Summary
		if s == nil {
			return nil
		}
		if end := s.WindowEnd(); closes.IsZero() || end.Before(closes) {
			closes = end
		}
		if s.WindowStart.After(opens) {
			opens = s.WindowStart
		}
		for _, peer := range s.Peers {
			found.UnknownOps += peer.Unknown.Ops()
			if at := peer.FirstReply; !at.IsZero() && (replied.IsZero() || at.Before(replied)) {
				replied = at
			}
		}
	}
	found.AtS = n.killed.Sub(opens).Seconds()
	if !replied.IsZero() {
		found.FirstReplyS = new(replied.Sub(n.killed).Seconds())
	}
	var spans []opsSpan
	from, to := n.former.lastAt.Add(-countedBefore), n.ready.Add(countedAfter)
	for _, client := range clients {
		for _, record := range client.window {
			i := record.Interval
			begun := record.Time.Add(-time.Duration(i.LengthS * float64(time.Second)))
			spans = append(spans, opsSpan{StartS: begun.Sub(opens).Seconds(), EndS: record.Time.Sub(opens).Seconds(), Ops: float64(i.Counts.Ops())})
			if record.Time.After(from) && begun.Before(to) {
				found.Unreported = found.Unreported.Add(i.Counts)
			}
		}
	}
	setRecovery(found, spans, closes.Sub(opens).Seconds())
	return found
}

// opsSpan is a number of verified operations in a span of the window, in seconds after its
// start.
type opsSpan struct{ StartS, EndS, Ops float64 }

// setRecovery sets BeforeOpsPerS and RecoveredS from the clients' spans in a window, each of
// whose operations are spread evenly over the whole seconds that it touches.
func setRecovery(r *metrics.Restart, spans []opsSpan, windowS float64) {
	seconds := make([]float64, max(0, int(windowS)))
	for _, s := range spans {
		for i := max(0, int(s.StartS)); i < len(seconds) && float64(i) < s.EndS; i++ {
			seconds[i] += s.Ops * (min(s.EndS, float64(i+1)) - max(s.StartS, float64(i))) / (s.EndS - s.StartS)
		}
	}
	at := min(max(0, int(r.AtS)), len(seconds))
	if at == 0 {
		return
	}
	r.BeforeOpsPerS = stats.Median(seconds[:at])
	if r.FirstReplyS == nil {
		return
	}
	replied := r.AtS + *r.FirstReplyS
	for i := at; i < len(seconds); i++ {
		if float64(i+1) > replied && seconds[i] >= metrics.RecoveredShare*r.BeforeOpsPerS {
			r.RecoveredS = new(max(float64(i), replied) - r.AtS)
			return
		}
	}
}
