package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kvlab/metrics/stats"
)

// The files of a sweep's folder, beside one folder for each trial.
const (
	SweepFile  = "sweep.json"  // a Sweep
	TrialsFile = "trials.json" // a []Trial
)

// Sweep is sweep.json: what is to be measured and in which order. It is written
// before the first trial. Only a search for the rate of an objective changes it: it adds
// the rates that it has tried. A run of several trials without a knob is a sweep of one
// point.
type Sweep struct {
	Schema    int             `json:"schema"` // as in Run
	ID        string          `json:"id"`     // the folder's name
	Started   time.Time       `json:"started"`
	Command   []string        `json:"command"` // the launcher's argv
	GitCommit string          `json:"git_commit"`
	Changed   []string        `json:"changed_files,omitempty"` // as in Run
	Lab       *Lab            `json:"lab,omitempty"`           // as in Run
	Programs  map[Role]string `json:"programs_sha256"`
	Seed      uint64          `json:"seed"` // of the order
	Knobs     []Knob          `json:"knobs"`
	Trials    int             `json:"trials_per_point"`
	Order     []PlannedTrial  `json:"order"` // every point Trials times

	// Until is the share of the median that the half-width of a point's 95 %
	// interval may have at most: further trials follow those of Order until it
	// is reached. 0 asks for none.
	Until float64 `json:"until_share,omitempty"`

	// Together: the trials of a pair are made at the same time.
	Together bool `json:"together,omitempty"`

	// SLO is the objective of a curve, such as "p99=5ms"; "" for none.
	SLO string `json:"slo,omitempty"`

	// Study is what the sweep tests; nil of other sweeps. Its points are the values of the
	// only knob, PointKnob.
	Study *Study `json:"study,omitempty"`

	// Class is what the sweep grades; nil of other sweeps. Its entries are the values of the
	// only knob, EntryKnob.
	Class *Class `json:"class,omitempty"`

	// Variants are A and B of a comparison, the values of its only knob, VariantKnob;
	// other sweeps have none. Each block of Order is a pair.
	Variants []Variant `json:"sides,omitempty"`
}

// VariantKnob is the knob of a comparison. Its values are VariantNames.
const VariantKnob = "side"

// VariantNames name the variants of a comparison.
var VariantNames = []string{"A", "B"}

// Variant is one of the two configurations of a comparison.
type Variant struct {
	Args         string          `json:"args"` // launcher flags of this variant alone
	GitCommit    string          `json:"git_commit"`
	ServerCommit string          `json:"server_commit,omitempty"` // of the servers' program, where it is another one
	Programs     map[Role]string `json:"programs_sha256"`
}

// Source is where a variant's programs come from, if not from the launcher's checkout:
// the first word of its arguments, as in commit:HEAD~1.
type Source struct {
	Kind string // BothPrograms, ServersAlone, or "": the checkout
	Rev  string // a git revision, or of ServersAlone the path of another checkout
}

// Path returns the path of another checkout, "" of a revision: no revision begins with a dot or a
// slash (gitrevisions(7)).
func (s Source) Path() string {
	if s.Kind == ServersAlone && (strings.HasPrefix(s.Rev, "/") || strings.HasPrefix(s.Rev, ".")) {
		return s.Rev
	}
	return ""
}

// The kinds of a Source, as they are typed.
const (
	BothPrograms = "commit:"
	ServersAlone = "server:"
)

// SourceOf returns the source that the words of a variant's arguments begin with.
func SourceOf(words []string) Source {
	for _, kind := range []string{BothPrograms, ServersAlone} {
		if len(words) > 0 && strings.HasPrefix(words[0], kind) {
			return Source{kind, strings.TrimPrefix(words[0], kind)}
		}
	}
	return Source{}
}

// Instrument says whose clients measured the servers of a variant; "" if all programs are
// those of the launcher's checkout.
func (v Variant) Instrument() string {
	short := func(commit string) string { return commit[:min(len(commit), 12)] }
	switch SourceOf(strings.Fields(v.Args)).Kind {
	case BothPrograms:
		return fmt.Sprintf("servers and clients are of commit %s: the instrument is of that commit too", short(v.GitCommit))
	case ServersAlone:
		return fmt.Sprintf("servers are of commit %s, clients of this checkout", short(v.ServerCommit))
	}
	return ""
}

// Knob is what a sweep varies.
type Knob struct {
	Name   string   `json:"name"` // nodes, servers, clients, or a flag of the servers or clients
	Values []string `json:"values"`

	Names map[string]string `json:"names,omitempty"` // of values that read better by a name: of a target file, the store's
}

// Label returns a value for people.
func (k Knob) Label(value string) string { return cmp.Or(k.Names[value], value) }

// PlannedTrial is a trial's place in a sweep.
type PlannedTrial struct {
	Number int      `json:"number"`          // in the order of execution, from 1
	Round  int      `json:"round,omitempty"` // of a class, from 1: of an entry's trials in a round, the last counts; 0 of other sweeps
	Point  []string `json:"point,omitempty"` // a value for each of the sweep's knobs, in their order
}

// ReadSweep reads a sweep's folder: the plan, and the trials finished so far in
// the order of their execution, which may be none. Errors name the file; that of
// a folder without a sweep is fs.ErrNotExist.
func ReadSweep(dir string) (Sweep, []Trial, error) {
	var sweep Sweep
	if err := ReadJSON(filepath.Join(dir, SweepFile), &sweep); err != nil {
		return sweep, nil, err
	}
	var trials []Trial
	err := ReadJSON(filepath.Join(dir, TrialsFile), &trials)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // interrupted in the first trial
	}
	return sweep, trials, err
}

// Points returns every combination of the knobs' values; the last knob changes
// fastest. Without a knob it is one point without values.
func Points(knobs []Knob) [][]string {
	points := [][]string{nil}
	for _, knob := range knobs {
		var longer [][]string
		for _, point := range points {
			for _, value := range knob.Values {
				longer = append(longer, append(slices.Clone(point), value))
			}
		}
		points = longer
	}
	return points
}

// PointName returns a point for people: "nodes=4 batch=8192"; "" for a sweep without
// knobs.
func PointName(knobs []Knob, point []string) string {
	var words []string
	for i, knob := range knobs {
		words = append(words, knob.Name+"="+knob.Label(point[i]))
	}
	return strings.Join(words, " ")
}

// Point holds the trials of one point.
type Point struct {
	Values []string // of the knobs
	Valid  []Trial  // in their order
	Failed []Trial  // whose verdict is INVALID: never data
}

// Summarize sorts a plan's trials by point, in the order of Points.
func Summarize(plan Sweep, trials []Trial) []Point {
	var points []Point
	for _, values := range Points(plan.Knobs) {
		point := Point{Values: values}
		for _, trial := range trials {
			switch {
			case !slices.Equal(trial.Point, values):
			case trial.Verdict.Stands():
				point.Valid = append(point.Valid, trial)
			default:
				point.Failed = append(point.Failed, trial)
			}
		}
		points = append(points, point)
	}
	return points
}

// Rates returns the valid trials' operations per second.
func (p Point) Rates() []float64 {
	var rates []float64
	for _, trial := range p.Valid {
		rates = append(rates, trial.OpsPerS)
	}
	return rates
}

// Trials returns how many trials of the point there are, failed ones included.
func (p Point) Trials() int { return len(p.Valid) + len(p.Failed) }

// OK reports whether the point may be shown as a result: it has a valid trial, and none
// failed. Without a failed one the rest is a selection.
func (p Point) OK() bool { return len(p.Valid) > 0 && len(p.Failed) == 0 }

// Met reports whether the half-width of the median's 95 % interval is at most
// the given share of the median. Too few trials for an interval never meet it.
func (p Point) Met(until float64) bool {
	estimate, ok := p.Estimate()
	return ok && estimate.HalfWidth() <= until
}

// Estimate returns the median of the valid trials with its 95 % interval, and false
// when they are too few for one.
func (p Point) Estimate() (stats.Estimate, bool) { return stats.MedianInterval(p.Rates(), 0.95) }

// Headroom returns the median of the valid trials' headrooms; 0 where no ceiling was
// measured.
func (p Point) Headroom() float64 {
	var headrooms []float64
	for _, trial := range p.Valid {
		if trial.Headroom > 0 {
			headrooms = append(headrooms, trial.Headroom)
		}
	}
	if len(headrooms) == 0 {
		return 0
	}
	return stats.Median(headrooms)
}

// Bottleneck returns what limits most of the valid trials, the first of several, and how
// many of them; "" where no trial says it.
func (p Point) Bottleneck() (limit BottleneckKind, trials int) {
	count := make(map[BottleneckKind]int)
	for _, trial := range p.Valid {
		count[trial.Bottleneck]++
	}
	for _, trial := range p.Valid {
		if n := count[trial.Bottleneck]; n > trials && trial.Bottleneck != "" {
			limit, trials = trial.Bottleneck, n
		}
	}
	return limit, trials
}
