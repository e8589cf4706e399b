package experiment

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"kvlab/metrics"
)

// NullEngine is the servers' engine that stores nothing.
const NullEngine = "null"

// The windows of a ceiling are a tenth of the run's within these bounds, and the
// warm-up is for caches and connections alone: it is one figure to two digits, and
// a run should not wait for it.
const (
	shortestCeiling = 500 * time.Millisecond
	longestCeiling  = time.Second
	ceilingWarmUp   = 300 * time.Millisecond
)

// storeOverhead is what a record takes beside its value in the largest of the
// engines: its key twice, an entry of a map, headers.
const storeOverhead = 200

// Work is what the ceilings of a run depend on.
type Work struct {
	Engine     string
	Servers    uint64
	Window     time.Duration // 0: not stated
	Records    uint64
	ValueBytes uint64
	Dedup      bool
}

// Overlay is what a ceiling changes of a run's plan.
type Overlay struct {
	Name       string
	Folder     string // below the run's
	Server     Flags
	Client     Flags
	NoServers  bool
	StoreBytes uint64   // that each client stores itself
	Lengths    []string // client arguments: the ceiling's warm-up and window
	Impossible error    // why the run has no such ceiling; nil if it has
}

// Flags are flags that are taken off a command line, and arguments that follow then.
type Flags struct{ Drop, Add []string }

// Ceilings are the ceilings of a run, one trial each: the same clients in a closed
// loop against servers that store nothing, and each with the run's engine in its own
// process.
type Ceilings []Overlay

var _ Next = Ceilings{}

// Ceilings are those of the work.
func (w Work) Ceilings() Ceilings {
	// A closed loop has no rate to keep to. It writes no files, and records nothing
	// that another engine would answer: -check is the name that earlier programs take too.
	loop := Flags{Drop: []string{"engine", "rate", "arrivals", "cpuprofile", "trace", "warmup", "secs"}, Add: []string{"-check=false"}}
	short := []string{fmt.Sprintf("-warmup=%g", ceilingWarmUp.Seconds()), fmt.Sprintf("-secs=%g", w.window().Seconds())}
	null := Overlay{
		Name: "null engine", Folder: "ceiling-null",
		Server: Flags{[]string{"engine", "inject", "cpuprofile", "trace"}, []string{"-engine=" + NullEngine}},
		Client: loop, Lengths: short,
	}
	if w.Dedup {
		null.Impossible = errors.New("with -dedup its one value would be sent once a reply")
	}
	records := (w.Records + w.Servers - 1) / w.Servers // as many as a server has
	own := append(loop.Add[:1:1], "-transport=inproc", "-engine="+w.Engine, "-client=0", "-clients=1", "-records="+strconv.FormatUint(records, 10))
	inProcess := Overlay{
		Name: "in process", Folder: "ceiling-inproc", NoServers: true, StoreBytes: records * (w.ValueBytes + storeOverhead),
		Client: Flags{loop.Drop, own}, Lengths: short,
	}
	return Ceilings{null, inProcess}
}

// window is the length of a ceiling's window.
func (w Work) window() time.Duration {
	window := min(max(w.Window/10, shortestCeiling), longestCeiling)
	if w.Window > 0 {
		window = min(window, w.Window)
	}
	return window
}

// Next returns the ceilings that are not measured yet.
func (c Ceilings) Next(done []Trial) ([]Group, error) {
	var groups []Group
	for i := len(done); i < len(c); i++ {
		groups = append(groups, Group{{PlannedTrial: metrics.PlannedTrial{Number: i + 1}, Of: len(c), Label: c[i].Name}})
	}
	return groups, nil
}

// Conclude returns the ceilings' rates, and why there is none where a trial failed.
func (c Ceilings) Conclude(done []Trial) *metrics.Ceiling {
	measured := new(metrics.Ceiling)
	rates := []*float64{&measured.NullOpsPerS, &measured.InprocOpsPerS}
	var missing []string
	for i, trial := range done {
		if trial.Verdict.Valid {
			*rates[i] = trial.OpsPerS
		} else {
			missing = append(missing, fmt.Sprintf("no %s: %s", c[i].Name, trial.Verdict.Reason))
		}
	}
	measured.Note = strings.Join(missing, "; ")
	return measured
}
