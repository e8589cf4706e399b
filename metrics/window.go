package metrics

import (
	"fmt"
	"strings"
	"time"

	"kvlab/metrics/format"
)

const (
	// WindowRounds is the least length of a closed loop's window, in its longest recent
	// rounds. It has LeastRounds even if later ones are a fifth longer.
	WindowRounds = 12
	// LeastRounds is the number of rounds from which the operations in flight at a window's
	// ends are less than a tenth of it.
	LeastRounds = 10
	// LongestWindow is the longest window that rounds lead to. A longer -secs stays.
	LongestWindow = 2 * time.Minute
	// WindowRoom is how much longer than that a longer window of an experiment is, so that the
	// other trials can have it too.
	WindowRoom = 1.5
	// WindowsApart is the share by which the windows of an experiment's trials may differ.
	WindowsApart = 0.05
	// WarmUpRounds is the least length of a closed loop's warm-up, unless it is 0.
	WarmUpRounds = 3
)

// WindowLength says how a run's window came to its length, in seconds.
type WindowLength struct {
	AskedS float64 `json:"asked_s"`           // -secs
	RoundS float64 `json:"round_s,omitempty"` // the longest recent round of any worker before the window, or in its first half without a warm-up; 0 of an open loop
	NeedsS float64 `json:"needs_s,omitempty"` // WindowRounds of these; 0 where -secs decides alone: an open loop, --soak, --restart-at
	UsedS  float64 `json:"used_s"`            // what all clients were told

	// DefaultBatch is the default of -batch, which the launcher may lower so that rounds fit; 0
	// where -batch was typed. Batch is what the clients used.
	DefaultBatch uint64 `json:"default_batch,omitempty"`
	Batch        uint64 `json:"batch,omitempty"`
}

// windowS returns the length of the trial's window that was asked for, the one that was
// used, and the one that its rounds needed, which may have become longer in it. All are 0
// where -secs decides alone.
func (t Trial) windowS() (asked, used, needed float64) {
	if t.Run == nil || t.Run.Window == nil || t.Run.Window.NeedsS == 0 {
		return 0, 0, 0
	}
	w := t.Run.Window
	needed = w.UsedS
	for _, node := range t.Run.Clients() {
		s := node.Summary
		if s == nil {
			continue
		}
		round := s.Latency[OpLatency].Mean / 1e6
		for _, account := range s.Workers {
			if account.Rounds != nil {
				round = max(round, account.Rounds.AcrossS)
			}
		}
		if LeastRounds*round > w.UsedS {
			needed = max(needed, min(WindowRoom*WindowRounds*round, LongestWindow.Seconds()))
		}
	}
	return w.AskedS, w.UsedS, needed
}

// SharedWindow returns the length in seconds of the windows of an experiment's trials that
// ask for a length: the longest that one of them needed. It is 0 if none says so.
func SharedWindow(trials []Trial, askedS float64) (length float64) {
	for _, t := range trials {
		if asked, _, needed := t.windowS(); asked == askedS {
			length = max(length, needed)
		}
	}
	return length
}

// SharedBatch returns the batch of an experiment's trials that have a default of -batch: the
// smallest to which that of one of them was lowered. It is 0 if none was.
func SharedBatch(trials []Trial, of uint64) (batch uint64) {
	for _, t := range trials {
		if def, used := t.batch(); def == of && used < def && (batch == 0 || used < batch) {
			batch = used
		}
	}
	return batch
}

// batch returns the default of the trial's -batch and what was used. Both are 0 where it was
// typed.
func (t Trial) batch() (def, used uint64) {
	if t.Run == nil || t.Run.Window == nil || t.Run.Window.DefaultBatch == 0 {
		return 0, 0
	}
	return t.Run.Window.DefaultBatch, t.Run.Window.Batch
}

// mostAdapted is how often a trial is made again because a later one needed a longer window, or
// a smaller batch. Each length has room for rounds half as long again, so three are a factor of
// three.
const mostAdapted = 3

// Unequal reports whether the trial is to be made again because another one of an experiment
// has needed a longer window, or a smaller default of -batch.
func (t Trial) Unequal(trials []Trial) bool {
	asked, used, _ := t.windowS()
	def, batch := t.batch()
	_, adapted := t.attempts()
	shared := SharedBatch(trials, def)
	return adapted < mostAdapted && (used < (1-WindowsApart)*SharedWindow(trials, asked) || shared > 0 && batch > shared)
}

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
	DueNs       int64   `json:"due_ns,omitempty"`         // likewise: when the last of Ops was due that ended the run
	Stages      []Stage `json:"stages,omitempty"`         // of one client; Run.Stages is for all
}

// Stage is a part of the window with a level of its own (-rate), of one client or of all.
type Stage struct {
	Level    string  `json:"level"` // with its length, as in -rate
	LengthS  float64 `json:"length_s"`
	Due      uint64  `json:"due"`      // operations that were due in it
	Answered uint64  `json:"answered"` // operations that were due in the window, and answered in it
	Behind   uint64  `json:"behind"`   // operations that were due in the window, and not answered at its end

	// DrainedS is, of a stage with a higher level than the next, the time from its end until no
	// more operations were behind than at some time before it, in the first stage with a level as
	// low as the next; -1 if that did not come in the window.
	DrainedS *float64 `json:"drained_s,omitempty"`

	// Of all clients together. Latencies are of the seconds that no boundary cuts. CalmS is, where
	// DrainedS is, the time until a second had a p99 of at most CalmLatency times the p99 of
	// the same stage before; -1 if none had in the next stage.
	Latency *Quantiles `json:"latency,omitempty"` // of the operations, since they were due
	Late    *Quantiles `json:"late,omitempty"`    // of the generator, when it woke up
	CalmS   *float64   `json:"calm_s,omitempty"`
}

// CalmLatency is how many times the latency from before a burst a store may have that has recovered.
const CalmLatency = 2

// MostStages bounds the stages of a rate. Each has histograms of up to 7 MB.
const MostStages = 64

// Add adds another client's load.
func (o *Offered) Add(p Offered) {
	o.Arrivals = p.Arrivals
	o.OpsPerS += p.OpsPerS
	o.Ops += p.Ops
	o.PeakOpsPerS += p.PeakOpsPerS
	if p.DueNs > 0 {
		o.DueNs, o.ClosesNs = max(o.DueNs, p.DueNs), max(o.ClosesNs, p.ClosesNs)
	}
}

// Achieved returns the share of the offered rate that was done in the window, about 1 for a store
// that keeps up. Nothing offered is 1, and so is nil. If the operations end the run, all of them
// are done, and the time in which they were due is a share of the window.
func (o *Offered) Achieved(done uint64) float64 {
	switch {
	case o == nil || o.Ops == 0:
		return 1
	case o.DueNs > 0:
		return min(1, float64(o.DueNs)/float64(o.ClosesNs)) * float64(done) / float64(o.Ops)
	}
	return float64(done) / float64(o.Ops)
}

// Saturated says why latencies mean nothing if too few of the offered operations were
// done; "" if enough were, and for nil.
func (o *Offered) Saturated(done uint64) string {
	if o != nil && o.behind(done) > o.mayDiffer() {
		return fmt.Sprintf("saturated: %.1f %% of the offered rate", 100*o.Achieved(done))
	}
	return ""
}

// behind returns how many operations less were done in the window than were due in it; if they end
// the run, than would have been due in it at their rate.
func (o *Offered) behind(done uint64) float64 {
	if o.DueNs > 0 {
		return o.OpsPerS * float64(o.ClosesNs-o.DueNs) / 1e9
	}
	return float64(o.Ops) - float64(done)
}

// Ahead reports whether over a hundredth more was done in the window than was due in it. A
// stall of the machine explains that of one run. It is false for nil.
func (o *Offered) Ahead(done uint64) bool { return o.Achieved(done) > 1+maxApart }

// mayDiffer returns by how many operations those done in the window may differ from those due.
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
