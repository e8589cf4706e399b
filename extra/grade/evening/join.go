package evening

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kvlab/kvs/verdict"
	"kvlab/metrics"
	"kvlab/plots/folder"
)

// Scale is scale.json of a class's folder: what a class makes of its trials, in place of what its
// plan says. Nothing in it changes what is measured.
type Scale struct {
	File      string              `json:"file"` // the class file, as an absolute path
	Title     string              `json:"title"`
	Score     []metrics.ScoreStep `json:"score"`
	Precision float64             `json:"precision"`
	Gradebook *metrics.Gradebook  `json:"gradebook,omitempty"`
	Names     map[string]string   `json:"names,omitempty"`    // of entries that have another name now
	Students  map[string][]string `json:"students,omitempty"` // of entries, by their name now
}

// ScaleFile is the file of a Scale.
const ScaleFile = "scale.json"

// ScaleOf returns what a class says of its scale.
func ScaleOf(class metrics.Class) Scale {
	s := Scale{Title: class.Title, Score: class.Score, Precision: class.Precision, Gradebook: class.Gradebook, Names: map[string]string{}, Students: map[string][]string{}}
	for _, e := range class.Entries {
		s.Students[e.Name] = e.Students
	}
	return s
}

// Term is a class over its evenings. The folder of the first holds those of the others.
type Term struct {
	Evenings []Evening // in the order of their beginning
	Scale    *Scale    // nil: that of the first evening
}

// Evening is one of them.
type Evening struct {
	Folder string // below the first's, whose own is "."
	Plan   metrics.Sweep
	Done   []metrics.Trial
}

// Load reads the folder of a class. An evening that is not of the class is an error.
func Load(dir string) (t Term, err error) {
	below, _ := filepath.Glob(filepath.Join(dir, "*", metrics.SweepFile)) // the pattern is right
	for _, file := range append([]string{filepath.Join(dir, metrics.SweepFile)}, below...) {
		at := filepath.Dir(file)
		if info, err := os.Lstat(at); at != dir && err == nil && !info.IsDir() {
			continue // the link to the latest
		}
		s, err := folder.LoadSweep(at)
		if err != nil {
			return t, err
		}
		name, _ := filepath.Rel(dir, at) // it is below
		if s.Class == nil {
			return t, fmt.Errorf("%s is no class's folder", at)
		}
		t.Evenings = append(t.Evenings, Evening{name, s.Sweep, s.Trials})
		if first := t.Evenings[0].Plan; s.Started.Before(first.Started) {
			return t, fmt.Errorf("%s began before the first evening of the class in %s: join that one into it", at, dir)
		}
		if why := Unlike(t.Evenings[0], t.Evenings[len(t.Evenings)-1]); why != "" {
			return t, fmt.Errorf("%s is no evening of the class in %s: it has another %s", at, dir, why)
		}
	}
	slices.SortStableFunc(t.Evenings[1:], func(a, b Evening) int { return a.Plan.Started.Compare(b.Plan.Started) })
	t.Scale = new(Scale)
	if err := metrics.ReadJSON(filepath.Join(dir, ScaleFile), t.Scale); errors.Is(err, fs.ErrNotExist) {
		t.Scale = nil
	} else if err != nil {
		return t, err
	}
	return t, nil
}

// Unlike names what is measured otherwise on another evening, with both values; "" if nothing is.
func Unlike(one, other Evening) string {
	if why := UnlikeClass(*one.Plan.Class, *other.Plan.Class); why != "" {
		return why
	}
	type fact struct{ name, one, other string }
	facts := []fact{{"launcher: commit", one.Plan.GitCommit, other.Plan.GitCommit}, {"lab", one.Plan.Lab.String(), other.Plan.Lab.String()}}
	for role, sum := range other.Plan.Programs { // none before the first trial
		facts = append(facts, fact{"launcher: program of the " + string(role), fmt.Sprintf("%.12s", one.Plan.Programs[role]), fmt.Sprintf("%.12s", sum)})
	}
	if a, b := machines(one.Done), machines(other.Done); a != "" && b != "" {
		facts = append(facts, fact{"kind of machine", a, b})
	}
	slices.SortFunc(facts, func(a, b fact) int { return cmp.Compare(a.name, b.name) })
	for _, f := range facts {
		if f.one != f.other {
			return fmt.Sprintf("%s: %q, and %q", f.name, f.one, f.other)
		}
	}
	return ""
}

// UnlikeClass names what a class measures otherwise than another: the reference, the work, or a
// gate; "" if nothing is, whatever their scales and their entries.
func UnlikeClass(one, other metrics.Class) string {
	a, b := one.Entries[0], other.Entries[0] // the references
	switch {
	case a.Args != b.Args:
		return fmt.Sprintf("work or reference: %q, and %q", a.Args, b.Args)
	case a.Name != b.Name || HashOf(a) != HashOf(b):
		return fmt.Sprintf("reference: %s of %.8s, and %s of %.8s", a.Name, HashOf(a), b.Name, HashOf(b))
	case one.MemoryMB != other.MemoryMB:
		return fmt.Sprintf("gate memory: %g MB, and %g MB", one.MemoryMB, other.MemoryMB)
	case !slices.Equal(one.Allow, other.Allow):
		return fmt.Sprintf("allow: %q, and %q", one.Allow, other.Allow)
	}
	return ""
}

// machines names the kinds of machines of the first trial that says them, and what contained it.
func machines(done []metrics.Trial) string {
	for _, t := range done {
		if t.Run == nil || !t.Verdict.Valid {
			continue
		}
		kinds := []string{t.Contained}
		for _, n := range t.Run.Nodes {
			if n.Config != nil {
				kinds = append(kinds, fmt.Sprintf("%d cores of %s", n.Config.Host.Cores, n.Config.Host.CPUModel))
			}
		}
		slices.Sort(kinds)
		return strings.Trim(strings.Join(slices.Compact(kinds), ", "), ", ")
	}
	return ""
}

// HashOf returns what tells a submission from every other of its team: the digest of its files,
// its commit, or that of its flags.
func HashOf(e metrics.Entry) string {
	return cmp.Or(e.Source, e.Commit, fmt.Sprintf("%x", sha256.Sum256([]byte(e.Args))))
}

// isPlain reports whether the term is one evening with its own scale.
func (t Term) isPlain() bool { return len(t.Evenings) == 1 && t.Scale == nil }

// with returns the term with an evening, in place of what it has of that one.
func (t Term) with(plan metrics.Sweep, done []metrics.Trial) Term {
	t.Evenings = slices.Clone(t.Evenings)
	if i := slices.IndexFunc(t.Evenings, func(e Evening) bool { return e.Plan.ID == plan.ID }); i >= 0 {
		t.Evenings[i].Plan, t.Evenings[i].Done = plan, done
	} else {
		t.Evenings = append(t.Evenings, Evening{".", plan, done})
	}
	return t
}

// Whole returns a class's folder with the evenings below it, and with its scale, as one; and the
// evenings.
func Whole(s *folder.Sweep) (*folder.Sweep, []Evening, error) {
	t, err := Load(s.Dir)
	if err != nil || t.isPlain() {
		return s, t.Evenings, err
	}
	whole := &folder.Sweep{Dir: s.Dir}
	whole.Sweep, whole.Trials, whole.Standings = t.Whole()
	for _, trial := range whole.Trials {
		whole.Runs = append(whole.Runs, &folder.Run{Run: *trial.Run, Dir: filepath.Join(s.Dir, trial.Folder)})
	}
	return whole, t.Evenings, nil
}

// Whole returns the class as one plan with the trials of all evenings, numbered on, and its
// standings. An entry whose team has handed in another one since is named by its hash, too.
func (t Term) Whole() (metrics.Sweep, []metrics.Trial, metrics.Standings) {
	whole, all := t.Evenings[0].Plan, joined{Term: t, newest: t.newest(), results: results{evenings: len(t.Evenings), rates: map[string][]float64{}, failures: map[string][]failure{}, invalid: map[string]string{}, earlier: map[string]bool{}}}
	all.class = *whole.Class
	all.class.Reference, all.class.Entries, all.class.Subject = t.name(whole.Class.Entries[0]), nil, ""
	if s := t.Scale; s != nil {
		all.class.Title, all.class.Score, all.class.Precision, all.class.Gradebook = s.Title, s.Score, s.Precision, s.Gradebook
	}
	for _, e := range t.Evenings {
		all.add(e)
	}
	for i := range all.class.Entries {
		if e := &all.class.Entries[i]; t.Scale != nil && t.Scale.Students[e.Name] != nil {
			e.Students = t.Scale.Students[e.Name]
		}
	}
	s := all.Standings
	s.Entries = all.results.standings()
	return Planned(whole, all.class), all.trials, s
}

// newest returns the hash of the newest submission of each entry.
func (t Term) newest() map[string]string {
	hashes := make(map[string]string)
	for _, e := range t.Evenings {
		for _, entry := range e.Plan.Class.Entries {
			hashes[t.name(entry)] = HashOf(entry)
		}
	}
	return hashes
}

// name returns the name that the scale gives to an entry.
func (t Term) name(e metrics.Entry) string {
	if t.Scale != nil {
		return cmp.Or(t.Scale.Names[e.Name], e.Name)
	}
	return e.Name
}

// joined are evenings that have become one.
type joined struct {
	Term
	results
	metrics.Standings
	newest map[string]string
	trials []metrics.Trial
	rounds int // with those that do not count
}

// add adds an evening.
func (j *joined) add(e Evening) {
	c, before, made := courseOf(e.Plan, e.Done), len(j.counts), len(j.trials)
	own, void := c.results(), made > 0 && c.out(e.Plan.Class.Reference) // one without a reference shows nothing
	if void {
		own = results{}
	}
	names := make(map[string]string) // of the evening's entries, here
	for _, entry := range e.Plan.Class.Entries {
		name := j.take(entry, c.besides(entry.Name))
		names[entry.Name] = name
		for len(j.rates[name]) < before {
			j.rates[name] = append(j.rates[name], 0)
		}
		j.rates[name] = append(j.rates[name], own.rates[entry.Name]...)
		if void || c.besides(entry.Name) {
			continue
		}
		why, lost := own.invalid[entry.Name], slices.IndexFunc(j.failures[name], func(f failure) bool { return verdict.OfStore(f.verdict) })
		if why != "" || lost < 0 { // what the store alone can have done stands, though it is measured again
			delete(j.invalid, name)
		}
		for _, f := range own.failures[entry.Name] {
			f.number += made
			j.failures[name] = append(j.failures[name], f)
		}
		if why != "" {
			j.invalid[name] = cmp.Or(reason(j.failures[name][len(j.failures[name])-len(own.failures[entry.Name]):]), why)
		}
	}
	j.counts = append(j.counts, own.counts...)
	for name, rates := range j.rates {
		for len(rates) < len(j.counts) {
			rates = append(rates, 0)
		}
		j.rates[name] = rates
	}
	s := c.standings()
	if j.Ended = map[bool]string{true: s.Ended}[made == 0 || j.Ended != ""]; void {
		for round := range c.rounds {
			j.Dropped = append(j.Dropped, j.rounds+round+1)
		}
		s = metrics.Standings{}
	}
	j.Rounds, j.Deciding, j.Void = j.Rounds+s.Rounds, j.Deciding+s.Deciding, cmp.Or(j.Void, s.Void)
	for _, round := range s.Dropped {
		j.Dropped = append(j.Dropped, j.rounds+round)
	}
	for _, trial := range e.Done {
		trial.Number, trial.Round, trial.Folder, trial.Point = trial.Number+made, trial.Round+j.rounds, filepath.Join(e.Folder, trial.Folder), []string{names[trial.Point[0]]}
		j.trials = append(j.trials, trial)
	}
	j.rounds += len(c.rounds)
}

// take returns the name of an evening's entry, which becomes one of the class.
func (j *joined) take(e metrics.Entry, beside bool) string {
	e.Name = j.name(e)
	if hash := HashOf(e); hash != j.newest[e.Name] {
		e.Name = fmt.Sprintf("%s@%.8s", e.Name, hash)
		j.earlier[e.Name] = true
	}
	e.Ratio = 0
	switch at := slices.IndexFunc(j.class.Entries, func(known metrics.Entry) bool { return known.Name == e.Name }); {
	case at < 0:
		j.class.Entries = append(j.class.Entries, e)
	case !beside:
		j.class.Entries[at] = e
	}
	return e.Name
}
