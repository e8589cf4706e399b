package metrics

import (
	"fmt"
	"time"

	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

// Restart is what it cost that the launcher killed a server in the window and started it
// again on its store (--restart-at).
type Restart struct {
	Server        string   `json:"server"`                  // the server that was killed
	AtS           float64  `json:"at_s"`                    // when the kill was sent, in seconds after the common window's start
	ReadyS        float64  `json:"ready_s"`                 // from the kill until the second process served
	FirstReplyS   *float64 `json:"first_reply_s,omitempty"` // from the kill to the first reply of the second process to any client; nil without one
	RecoveredS    *float64 `json:"recovered_s,omitempty"`   // from the kill to the beginning of the first whole second of the window that ends after that reply and has RecoveredShare of BeforeOpsPerS, at least FirstReplyS; nil without one
	BeforeOpsPerS float64  `json:"before_ops_per_s"`        // median of the whole seconds of the window before the kill, all clients together
	UnknownOps    uint64   `json:"unknown_ops"`             // operations whose outcome is unknown: they had no answer when the server was killed
	Reported      Counts   `json:"reported"`                // operations that the killed process had applied at its last report
	Unreported    Counts   `json:"unreported"`              // operations that the clients verified, with any server, from that report until the second process served: the killed one applied at most as many of them
}

// The clients may count an operation some time before or after the server reports it, beside
// the length of their intervals.
const (
	countedBefore = 100 * time.Millisecond // clocks differ
	countedAfter  = 500 * time.Millisecond // a client that waits for a processor reads its last replies late
)

// restarted returns what the restart of a server cost, of a run that the clients have ended;
// nil without one.
func (n *Reported) restarted(name string, clients []*Reported) *Restart {
	if n.ready.IsZero() {
		return nil
	}
	opens, closes, replied := time.Time{}, time.Time{}, time.Time{}
	found := &Restart{Server: name, ReadyS: n.ready.Sub(n.killed).Seconds(), Reported: n.former.Counts}
	for _, client := range clients {
		s := client.Summary
		if s == nil {
			return nil
		}
		if end := s.WindowStart.Add(time.Duration(s.WindowLengthS * float64(time.Second))); closes.IsZero() || end.Before(closes) {
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
	var spans []OpsSpan
	from, to := n.former.lastAt.Add(-countedBefore), n.ready.Add(countedAfter)
	for _, client := range clients {
		for _, record := range client.window {
			i := record.Interval
			begun := record.Time.Add(-time.Duration(i.LengthS * float64(time.Second)))
			spans = append(spans, OpsSpan{StartS: begun.Sub(opens).Seconds(), EndS: record.Time.Sub(opens).Seconds(), Ops: float64(i.Counts.Ops())})
			if record.Time.After(from) && begun.Before(to) {
				found.Unreported = found.Unreported.Add(i.Counts)
			}
		}
	}
	found.Recover(spans, closes.Sub(opens).Seconds())
	return found
}

// RecoveredShare is the share of the throughput before a kill at which it has recovered.
const RecoveredShare = 0.9

// Of reports whether a server was killed; nil has none.
func (r *Restart) Of(server string) bool { return r != nil && r.Server == server }

// OpsSpan is a number of verified operations in a span of the window, in seconds after its
// start.
type OpsSpan struct{ StartS, EndS, Ops float64 }

// Recover sets BeforeOpsPerS and RecoveredS from the clients' spans in a window, each of
// whose operations are spread evenly over the whole seconds that it touches.
func (r *Restart) Recover(spans []OpsSpan, windowS float64) {
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
		if float64(i+1) > replied && seconds[i] >= RecoveredShare*r.BeforeOpsPerS {
			r.RecoveredS = new(max(float64(i), replied) - r.AtS)
			return
		}
	}
}

// String says it in a line.
func (r *Restart) String() string {
	replied, recovered := "no reply after that", "not within the window"
	if r.FirstReplyS != nil {
		replied = fmt.Sprintf("its first reply after %.3f s", *r.FirstReplyS)
	}
	if r.RecoveredS != nil {
		recovered = fmt.Sprintf("after %.3f s", *r.RecoveredS)
	}
	return fmt.Sprintf("%s was killed %.1f s into the window and ready again after %.3f s, %s; back at %.0f %% of %s ops/s %s; %s of unknown outcome",
		r.Server, r.AtS, r.ReadyS, replied, 100*RecoveredShare, format.Count(r.BeforeOpsPerS), recovered, format.Plural(r.UnknownOps, "operation"))
}
