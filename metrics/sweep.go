package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
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

// Path is the path of another checkout, "" of a revision: no revision begins with a dot or a
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

// SourceOf is the source that the words of a variant's arguments begin with.
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

// Label is a value for people.
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
