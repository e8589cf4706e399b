package metrics

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kvlab/metrics/format"
)

// Result is the result of a run. Run and Trial embed it.
type Result struct {
	Schema     int       `json:"schema"` // the version of the records' form: 2
	Started    time.Time `json:"started"`
	Ended      time.Time `json:"ended"`
	Quick      bool      `json:"quick,omitempty"` // a short look (--quick): a separate class, never ranked against a full run
	WindowS    float64   `json:"window_s"`        // of the intersection of all clients' windows
	Ops        uint64    `json:"ops"`             // verified operations whose replies came inside that window, to half an EdgeSlot at its ends
	OpsPerS    float64   `json:"ops_per_s"`
	Verdict    Verdict   `json:"verdict"`
	Counting   Counting  `json:"counts,omitempty"`     // how strongly the clients' counts were compared with the servers'; "" of a run that ended early
	Store      *Store    `json:"store,omitempty"`      // nil: kvlab's own
	Durability string    `json:"durability,omitempty"` // of an engine on disk: its name, the mode of -sync and the promise; "" of one in memory
}

// TrialOf returns a run's result as a trial of a sweep. folder is the run's, below
// the sweep's.
func TrialOf(planned PlannedTrial, folder string, run Run) Trial {
	trial := Trial{
		PlannedTrial: planned,
		Folder:       folder,
		Result:       run.Result,
		Servers:      run.Count(Server),
		Clients:      run.Count(Client),
		Workers:      run.Workload.Workers(),
		P50:          run.Latency[CallLatency].P50,
		P99:          run.Latency[CallLatency].P99,
		OpP50:        run.Latency[OpLatency].P50,
		OpP95:        run.Latency[OpLatency].P95,
		OpP99:        run.Latency[OpLatency].P99,
		OpP999:       run.Latency[OpLatency].P999,
		LateP99:      run.Latency[Lateness].P99,
		Contained:    run.Contained.RankClass(),
		Run:          &run,
	}
	if run.WarmUp != nil {
		trial.NonStationary = !run.WarmUp.Stationary
	}
	if run.Ceiling != nil {
		trial.Headroom, trial.ClientBound = run.Ceiling.Headroom, run.Ceiling.ClientBound
	}
	if run.Bottleneck != nil {
		trial.Bottleneck = run.Bottleneck.Kind
	}
	if run.Offered != nil {
		trial.OfferedOpsPerS = run.Offered.OpsPerS
	}
	trial.LinkBitsPerS = run.Preflight.SlowestLink()
	if run.Lab != nil {
		trial.LinkBitsPerS = run.Lab.LinkBitsPerS
	}
	trial.BytesPerOpSent, trial.BytesPerOpReceived = run.BytesPerOp()
	return trial
}

// Stamps returns warnings shown beside the verdict of a VALID trial.
func (t Trial) Stamps() []string {
	var stamps []string
	if t.Quick {
		stamps = append(stamps, "QUICK")
	}
	if t.NonStationary {
		stamps = append(stamps, "NON-STATIONARY")
	}
	if t.ClientBound {
		stamps = append(stamps, "CLIENT-BOUND")
	}
	return stamps
}

// Trial is the result of one trial of a sweep. An INVALID one is kept but is never a
// data point.
type Trial struct {
	PlannedTrial
	Folder string `json:"folder"` // an ordinary run folder, below the sweep's
	Result
	Servers            int            `json:"servers"`
	Clients            int            `json:"clients"`
	Workers            int            `json:"workers"` // of each client; 0 unknown
	P50                *float64       `json:"p50_us"`  // of the calls' latency; nil with too few calls
	P99                *float64       `json:"p99_us"`
	OpP50              *float64       `json:"op_p50_us"` // of the operations' latency, from when they were due; nil also when saturated
	OpP95              *float64       `json:"op_p95_us,omitempty"`
	OpP99              *float64       `json:"op_p99_us"`
	OpP999             *float64       `json:"op_p99_9_us,omitempty"`
	LateP99            *float64       `json:"late_p99_us,omitempty"` // of the generator of an open loop
	OfferedOpsPerS     float64        `json:"offered_ops_per_s"`     // of an open loop; 0 of a closed one
	BytesPerOpSent     float64        `json:"bytes_per_op_sent"`     // by clients, without frame headers; 0 unknown
	BytesPerOpReceived float64        `json:"bytes_per_op_received"`
	LinkBitsPerS       uint64         `json:"link_bits_per_s,omitempty"` // of each node's link, one way; 0 unknown
	Outside            bool           `json:"outside,omitempty"`         // it broke for a reason that is not its store's: a node was not reached, a port was taken
	Earlier            []Attempt      `json:"earlier,omitempty"`         // attempts at this trial that do not count
	Resumed            bool           `json:"-"`                         // --resume has read it
	Contained          string         `json:"contained,omitempty"`       // see Containment.RankClass
	NonStationary      bool           `json:"non_stationary,omitempty"`  // the warm-up's rates had not settled, though it was extended
	Headroom           float64        `json:"headroom,omitempty"`        // see Ceiling
	ClientBound        bool           `json:"client_bound,omitempty"`
	Bottleneck         BottleneckKind `json:"limit,omitempty"` // see Bottleneck; "" of one that is not VALID
	Run                *Run           `json:"-"`               // run.json; nil where only trials.json was read
}

// Attempt is a trial that was made again and does not count. What it measured is never the
// reason.
type Attempt struct {
	Folder  string  `json:"folder"`
	Verdict Verdict `json:"verdict"`
	Outside bool    `json:"outside,omitempty"` // see Trial; otherwise a later trial needed a longer window, or a smaller batch
}

// mostRepeats is how often a trial that broke for an outside reason is made again; once more
// with each --resume.
const mostRepeats = 2

// attempts returns how many earlier attempts broke for an outside reason, and how many had
// too short a window, or too large a batch.
func (t Trial) attempts() (outside, short int) {
	for _, a := range t.Earlier {
		if a.Outside {
			outside++
		} else {
			short++
		}
	}
	return outside, short
}

// Broken reports whether the trial broke for an outside reason and is to be made again.
func (t Trial) Broken() bool {
	outside, _ := t.attempts()
	return t.Outside && (t.Resumed || outside < mostRepeats)
}

// Insert returns the trials with t, which replaces the one with its number and has that as
// an earlier attempt.
func Insert(trials []Trial, t Trial) []Trial {
	i := slices.IndexFunc(trials, func(other Trial) bool { return other.Number == t.Number })
	if i < 0 {
		return append(trials, t)
	}
	old := trials[i]
	t.Earlier = append(slices.Clone(old.Earlier), Attempt{old.Folder, old.Verdict, old.Outside})
	trials = slices.Clone(trials)
	trials[i] = t
	return trials
}

// MadeAgain lists the trials that were made again, with the reasons; "" for none.
func MadeAgain(trials []Trial) string {
	var broken, short []string
	for _, t := range trials {
		outside, windows := t.attempts()
		if outside > 0 {
			last := slices.IndexFunc(t.Earlier, func(a Attempt) bool { return a.Outside })
			broken = append(broken, fmt.Sprintf("trial %d %s, as it broke: %s", t.Number, format.Plural(outside, "time"), t.Earlier[last].Verdict.Reason))
		}
		if windows > 0 {
			short = append(short, fmt.Sprint(t.Number))
		}
	}
	if len(short) > 0 {
		broken = append(broken, "for the longer window or smaller batch of a later trial: "+strings.Join(short, ", "))
	}
	if len(broken) == 0 {
		return ""
	}
	return "made again: " + strings.Join(broken, "; ")
}
