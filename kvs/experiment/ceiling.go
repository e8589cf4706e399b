package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"kvlab/kvs/verdict"
	"kvlab/metrics"
	"kvlab/workload/size"
)

// nullEngine names the engine that stores nothing.
const nullEngine = "null"

// A ceiling's window is a tenth of the run's, within these bounds. Its warm-up serves
// caches and connections only. Two digits of one figure are enough, and the run waits
// for it. Its rounds may lengthen both.
const (
	shortestCeiling = 500 * time.Millisecond
	longestCeiling  = time.Second
	ceilingWarmUp   = 300 * time.Millisecond

	longestRepeat = 5 * time.Second // the longest window of a ceiling that is measured again
)

// storeOverhead is the memory of a record beside its value in the largest engine: its
// key twice, a map entry, headers.
const storeOverhead = 200

// Overlay is a ceiling's changes to a run's plan.
type Overlay struct {
	Name       string
	Folder     string // in the run's
	Server     change
	Client     change
	NoServers  bool
	Judge      func(*metrics.Run) metrics.Verdict
	StoreBytes uint64        // that each client stores
	Impossible error         // why the run has no such ceiling; may be nil
	run        time.Duration // the run's own window; 0 or less if unknown
}

// Lengths returns the client arguments that set the ceiling's warm-up and window.
func (o Overlay) Lengths() []string { return lengths(ceilingWarmUp, ceilingWindow(o.run)) }

// Again returns the lengths of a second measurement, for a ceiling below the run's result:
// those of the run, up to 5 s.
func (o Overlay) Again() []string {
	return lengths(2*ceilingWarmUp, max(ceilingWindow(o.run), min(o.run, longestRepeat)))
}

func lengths(warmUp, window time.Duration) []string {
	return []string{fmt.Sprintf("-warmup=%g", warmUp.Seconds()), fmt.Sprintf("-secs=%g", window.Seconds())}
}

// change holds the flags that a ceiling removes from a command line, and the arguments
// that it adds.
type change struct{ Drop, Add []string }

// Ceilings are the ceilings of a run, one trial each: the same clients in a closed loop
// against servers that store nothing, then with the run's engine in each client's
// process, then with the frames of one round alone, which neither side makes or reads. A foreign
// store's have the first alone, against servers that speak its protocol.
type Ceilings []Overlay

// CeilingsOf returns the ceilings of a run with these settings; none if it is one itself.
func CeilingsOf(settings map[metrics.Role]metrics.Settings, servers int) Ceilings {
	client, engine := settings[metrics.Client], settings[metrics.Server].Engine()
	if engine == nullEngine || client.Program() != "" { // a team's program has no such form
		return nil
	}
	// A closed loop has no rate. It writes no profile, and records no history, which the
	// null engine would break. It measures for a time, as long as a trace may be.
	loop := change{Drop: []string{"engine", "rate", "arrivals", "profile", "cpuprofile", "exec-trace", "warmup", "secs", "ops"}, Add: []string{"-linearizable=false"}}
	if client["replay"] != "" {
		loop.Add = append(loop.Add, "-replay-loop")
	}
	window := client.Secs()
	null := Overlay{
		Name: "null engine", Folder: "ceiling-null",
		Server: change{[]string{"engine", "inject", "profile", "cpuprofile", "exec-trace"}, []string{"-engine=" + nullEngine}},
		Client: loop, run: window, Judge: verdict.Judge,
	}
	if client.Txn() > 0 {
		null.Impossible = errors.New("with -txn its servers would need a store, which has locks")
	}
	if !client.Own() {
		null.Name, null.Client.Add = "null store", append(slices.Clip(loop.Add), "-engine="+nullEngine)
		return Ceilings{null}
	}
	switch {
	case client.Caches():
		null.Impossible = errors.New("with -cache its values would need versions")
	case client.Dedup():
		null.Impossible = errors.New("with -dedup its one value would be sent once a reply")
	}
	records := (client.Records() + uint64(servers) - 1) / uint64(servers) // as many as a server has
	own := append(slices.Clip(loop.Add), "-transport=inproc", "-engine="+engine, "-cache=0", "-client=0", "-clients=1", "-records="+strconv.FormatUint(records, 10))
	inProcess := Overlay{
		Name: "in process", Folder: "ceiling-inproc", NoServers: true, Judge: verdict.JudgeInproc, StoreBytes: records * (size.OfRecord(client.ValueSize(), client.KeySize()) + storeOverhead),
		Client: change{loop.Drop, own}, run: window,
	}
	if settings[metrics.Server].Sync() != "" {
		inProcess.Impossible = errors.New("-engine " + engine + " stores on the servers' disks")
	}
	wire := Overlay{
		Name: "wire", Folder: "ceiling-wire", Judge: verdict.JudgeRepeat,
		Server: change{slices.Concat(null.Server.Drop, []string{"model"}), append(null.Server.Add[:1:1], "-repeat")},
		Client: change{loop.Drop, append(slices.Clip(loop.Add), "-repeat")}, run: window, Impossible: null.Impossible,
	}
	if client.AutoBatch() {
		wire.Impossible = errors.New("with -batch auto calls have no size of their own")
	}
	return Ceilings{null, inProcess, wire}
}

// ceilingWindow returns the length of a ceiling's window. run is the length of the run's,
// which may be unknown.
func ceilingWindow(run time.Duration) time.Duration {
	window := min(max(run/10, shortestCeiling), longestCeiling)
	if run > 0 {
		window = min(window, run)
	}
	return window
}

// Next returns the ceilings that are not measured yet.
func (c Ceilings) Next(done []metrics.Trial) ([]Group, error) {
	var groups []Group
	for i := len(done); i < len(c); i++ {
		groups = append(groups, Group{{PlannedTrial: metrics.PlannedTrial{Number: i + 1}, Of: len(c), Label: c[i].Name}})
	}
	return groups, nil
}

// Conclude returns the ceilings' rates, with a note on each failed trial.
func (c Ceilings) Conclude(done []metrics.Trial) *metrics.Ceiling {
	measured := &metrics.Ceiling{Tried: true, From: make(map[string]string)}
	rates := []*float64{&measured.NullOpsPerS, &measured.InprocOpsPerS, &measured.WireOpsPerS}
	var missing []string
	for i, trial := range done {
		if trial.Verdict.Valid {
			*rates[i], measured.From[c[i].Folder] = trial.OpsPerS, trial.Folder
			measured.Protocol = cmp.Or(measured.Protocol, trial.Run.Protocol())
		} else {
			missing = append(missing, fmt.Sprintf("no %s: %s", c[i].Name, trial.Verdict.Reason))
		}
	}
	measured.Note = strings.Join(missing, "; ")
	return measured
}
