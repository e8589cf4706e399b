package metrics

import (
	"fmt"

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
