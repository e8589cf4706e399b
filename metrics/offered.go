package metrics

import (
	"fmt"
	"strings"

	"kvlab/metrics/format"
)

// What is done in the window may differ from what was due in it by a share, or by what is
// due in a stall of the machine at one of its ends. Below it a run is saturated: its
// latencies grow with its length and mean nothing.
const (
	maxApart = 0.01
	stallS   = 0.25
)

// Offered is the load that an open loop offers, of one client or of all.
type Offered struct {
	Arrivals    string  `json:"arrivals"`
	OpsPerS     float64 `json:"ops_per_s"`
	Ops         uint64  `json:"ops"`                      // operations that were due in the window
	PeakOpsPerS float64 `json:"peak_ops_per_s,omitempty"` // of the closed loop that OpsPerS is a share of; 0: OpsPerS was asked for
	RunOpsPerS  float64 `json:"run_ops_per_s,omitempty"`  // of all clients together, which the due times are drawn from
	OpensNs     int64   `json:"opens_ns,omitempty"`       // of one client: the window, from the time that the due times count from
	ClosesNs    int64   `json:"closes_ns,omitempty"`      // likewise
}

// Add adds another client's load.
func (o *Offered) Add(p Offered) {
	o.Arrivals = p.Arrivals
	o.OpsPerS += p.OpsPerS
	o.Ops += p.Ops
	o.PeakOpsPerS += p.PeakOpsPerS
}

// Achieved is the share of the offered operations that were done in the window,
// about 1 for a store that keeps up. Nothing offered is 1, and so is nil.
func (o *Offered) Achieved(done uint64) float64 {
	if o == nil || o.Ops == 0 {
		return 1
	}
	return float64(done) / float64(o.Ops)
}

// Saturated says why latencies mean nothing if too few of the offered operations were
// done; "" if enough were, and for nil.
func (o *Offered) Saturated(done uint64) string {
	if o != nil && float64(o.Ops)-float64(done) > o.mayDiffer() {
		return fmt.Sprintf("saturated: %.1f %% of the offered rate", 100*o.Achieved(done))
	}
	return ""
}

// Ahead reports whether over a hundredth more was done in the window than was due in it. A
// stall of the machine explains that of one run. It is false for nil.
func (o *Offered) Ahead(done uint64) bool { return o.Achieved(done) > 1+maxApart }

// mayDiffer is by how many operations those done in the window may differ from those due.
func (o *Offered) mayDiffer() float64 { return max(maxApart*float64(o.Ops), stallS*o.OpsPerS) }

// String is for people: "200k ops/s offered, Poisson".
func (o Offered) String() string {
	text := fmt.Sprintf("%s ops/s offered, %s", format.Count(o.OpsPerS), strings.Replace(o.Arrivals, "poisson", "Poisson", 1))
	if o.PeakOpsPerS > 0 {
		text += fmt.Sprintf(", %.3g %% of a closed loop's %s", 100*o.OpsPerS/o.PeakOpsPerS, format.Count(o.PeakOpsPerS))
	}
	return text
}

// LoopText says how a result was loaded: "closed loop", or "open loop, 200k ops/s
// offered, Poisson" and what was achieved.
func LoopText(o *Offered, done uint64) string {
	if o == nil {
		return "closed loop"
	}
	return fmt.Sprintf("open loop, %s: %.1f %% achieved", o, 100*o.Achieved(done))
}
