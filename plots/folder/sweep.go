package folder

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kvlab/metrics"
)

// Sweep is a sweep's folder in memory, or several runs as if they were a sweep.
type Sweep struct {
	metrics.Sweep
	Trials []metrics.Trial // finished, in the order of their execution
	Runs   []*Run          // run.json of each trial
	Points []Point         // every planned one, in the order of the knobs' values
	Dir    string          // "" for runs as if they were a sweep

	Claims    []metrics.ClaimResult // of a study; none before its first trial
	Standings metrics.Standings     // of a class; none before its first round
}

// Point is one combination of the knobs' values.
type Point struct {
	metrics.Point
	Run *Run // run.json of its first valid trial; nil without one
}

// IsSweep reports whether dir is a sweep's folder.
func IsSweep(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, metrics.SweepFile))
	return err == nil
}

// LoadSweep reads a sweep's folder. A trial that did not finish is left out.
func LoadSweep(dir string) (*Sweep, error) {
	plan, trials, err := metrics.ReadSweep(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not a sweep's folder: %s is not in it", dir, metrics.SweepFile)
	}
	if err != nil {
		return nil, err
	}
	s := &Sweep{Sweep: plan, Trials: trials, Dir: dir}
	for name, into := range map[string]any{metrics.ClaimsFile: &s.Claims, metrics.StandingsFile: &s.Standings} {
		if err := metrics.ReadJSON(filepath.Join(dir, name), into); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for _, trial := range trials {
		planned := func(k metrics.Knob, value string) bool { return slices.Contains(k.Values, value) }
		if !slices.EqualFunc(plan.Knobs, trial.Point, planned) {
			return nil, fmt.Errorf("%s: trial %d is of point %q, which %s does not have",
				filepath.Join(dir, metrics.TrialsFile), trial.Number, trial.Point, metrics.SweepFile)
		}
		folder := filepath.Join(dir, trial.Folder)
		r := &Run{Dir: folder}
		if err := r.readJSON(os.DirFS(folder)); err != nil && trial.Verdict.Stands() {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		if r.GitCommit != "" && plan.GitCommit != "" && len(plan.Variants) == 0 && r.GitCommit != plan.GitCommit {
			return nil, fmt.Errorf("%s is of commit %s, the sweep of %s: they are never one result", folder, r.GitCommit, plan.GitCommit)
		}
		r.ID, r.Verdict = plan.ID+"/"+trial.Folder, trial.Verdict // an INVALID one may have written nothing
		s.Runs, s.Trials[len(s.Runs)].Run = append(s.Runs, r), &r.Run
	}
	s.summarize()
	return s, nil
}

// summarize fills in the points.
func (s *Sweep) summarize() {
	for _, point := range metrics.Summarize(s.Sweep, s.Trials) {
		p := Point{Point: point}
		if len(point.Valid) > 0 {
			p.Run = s.Runs[slices.IndexFunc(s.Trials, func(t metrics.Trial) bool { return t.Number == point.Valid[0].Number })]
		}
		s.Points = append(s.Points, p)
	}
}

// LoadRuns loads each run folder once, and run.json of all trials of a sweep's
// folder.
func LoadRuns(dirs []string) ([]*Run, error) {
	var runs []*Run
	seen := map[string]bool{}
	for _, dir := range dirs {
		if dir == "" {
			return nil, errors.New("a folder's name is empty: want names with commas between them")
		}
		path, err := filepath.EvalSymlinks(dir)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			return nil, fmt.Errorf("find run folder: %w", err)
		}
		if seen[path] {
			continue
		}
		seen[path] = true
		if IsSweep(path) {
			s, err := LoadSweep(path)
			if err != nil {
				return nil, err
			}
			runs = append(runs, s.Runs...)
			continue
		}
		r, err := Load(dir)
		if err != nil {
			return nil, err
		}
		r.ID = cmp.Or(r.ID, filepath.Base(path))
		runs = append(runs, r)
	}
	return runs, nil
}

// Failed returns the trials that are not valid.
func (s *Sweep) Failed() []metrics.Trial {
	return slices.DeleteFunc(slices.Clone(s.Trials), func(t metrics.Trial) bool { return t.Verdict.Stands() })
}

// TrialsOf returns the trials of an entry of a class, without the valid ones of rounds that do
// not count.
func (s *Sweep) TrialsOf(entry string) []metrics.Trial {
	return slices.DeleteFunc(slices.Clone(s.Trials), func(t metrics.Trial) bool {
		return !slices.Equal(t.Point, []string{entry}) || t.Verdict.Stands() && slices.Contains(s.Standings.Dropped, t.Round)
	})
}

// TrialName returns a trial for people: "trial 3, nodes=8", or a run's id.
func (s *Sweep) TrialName(t metrics.Trial) string {
	name := fmt.Sprintf("trial %d", t.Number)
	if s.ID == "" {
		name = t.Folder
	}
	if point := metrics.PointName(s.Knobs, t.Point); point != "" {
		name += ", " + point
	}
	return name
}

// nodesKnob is the number of nodes as a knob.
const nodesKnob = "nodes"

// The settings that have the commit of a foreign store's program and of a team's client, or
// their digests.
const (
	StoreProgram  = "store's program"
	ClientProgram = "client's program"
)

// SweepOf makes a sweep whose trials are the runs. Its knobs are the number of nodes
// and all else in which the runs differ, except for seeds: work, class, commit, and the
// numbers of servers and clients where the number of nodes does not say them.
func SweepOf(runs []*Run) *Sweep {
	settings := make([]map[string]string, len(runs))
	topologies, ambiguous := map[string]string{}, false // by number of nodes
	for i, r := range runs {
		settings[i] = r.Configuration()
		nodes, topology := settings[i][nodesKnob], DescribeTopology(r.Run)
		ambiguous = ambiguous || cmp.Or(topologies[nodes], topology) != topology
		topologies[nodes] = topology
	}
	for i, r := range runs {
		if ambiguous {
			settings[i]["servers + clients"] = DescribeTopology(r.Run)
		}
	}
	s := &Sweep{Sweep: metrics.Sweep{Seed: 1}, Runs: runs}
	for _, name := range append([]string{nodesKnob}, otherKnobs(settings)...) {
		s.Knobs = append(s.Knobs, knobOf(name, settings))
	}
	for i, r := range runs {
		var point []string
		for _, knob := range s.Knobs {
			point = append(point, settings[i][knob.Name])
		}
		next := metrics.PlannedTrial{Number: i + 1, Point: point}
		s.Order = append(s.Order, next)
		s.Trials = append(s.Trials, metrics.TrialOf(next, r.ID, r.Run))
	}
	s.summarize()
	s.Points = slices.DeleteFunc(s.Points, func(p Point) bool { return p.Trials() == 0 })
	return s
}

// otherKnobs names the settings in which the configurations differ, besides the
// nodes. More than two become one knob, settings, whose values name them all.
func otherKnobs(configurations []map[string]string) []string {
	differ := slices.DeleteFunc(Differences(configurations), func(name string) bool { return name == nodesKnob })
	if len(differ) <= 2 {
		return differ
	}
	for _, c := range configurations {
		var words []string
		for _, name := range differ {
			words = append(words, name+" "+cmp.Or(c[name], "unknown"))
		}
		c["settings"] = strings.Join(words, ", ")
	}
	return []string{"settings"}
}

// Configuration returns a run's settings by the names of a sweep's knobs: the flags that
// define the work, the engine, the number of nodes, and the commit of the programs. The
// seed is none of them: trials of one configuration may have different seeds. What a team claims is
// never one with what is verified.
func (r *Run) Configuration() map[string]string {
	all := map[string]string{}
	maps.Copy(all, r.Workload)
	delete(all, "seed")
	all[nodesKnob] = strconv.Itoa(r.Machines())
	if r.Symmetric {
		all["symmetric"] = "yes"
	}
	if r.Quick {
		all["quick"] = "yes"
	}
	all["result"] = metrics.Verdict{Valid: !r.IsClaimed(), Claimed: r.IsClaimed()}.Word() // if it has one
	if commit := r.commit(); commit != "" {
		all["git commit"] = commit
	}
	if all["store"] = r.Store.RankClass(); r.Store != nil && r.Store.Commit+r.Store.Binary != "" {
		all[StoreProgram] = cmp.Or(r.Store.Commit, fmt.Sprintf("%.16s", r.Store.Binary))
	}
	for _, s := range r.Summaries(metrics.Client) {
		if c := s.Claim; c != nil && c.SHA256 != "" {
			all[ClientProgram] = cmp.Or(c.Commit, fmt.Sprintf("%.16s", c.SHA256))
		}
	}
	maps.Copy(all, r.Conditions())
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" }) // settings of kvlab's own store, of another
	for name, value := range map[string]string{"lab": r.Lab.String(), metrics.EngineFlag: r.Settings(metrics.Server).Engine(), "model": r.Model()} {
		if value != "" {
			all[name] = value
		}
	}
	return all
}

// commit returns the commit of a run's programs. One with changes is told from others by the
// programs' digests.
func (r *Run) commit() string {
	text := r.GitCommit
	if r.ServerCommit != "" {
		text += ", servers " + r.ServerCommit
	}
	if !strings.HasSuffix(r.GitCommit, "-dirty") {
		return text
	}
	for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
		if config := r.Config(role); config != nil {
			text += fmt.Sprintf(", %s %.8s", role, config.Binary)
		}
	}
	return text
}

// Differences names, in order, the settings that differ between configurations.
func Differences(configurations []map[string]string) []string {
	differ := map[string]bool{}
	for _, c := range configurations {
		for name, value := range c {
			other := func(c map[string]string) bool { return c[name] != value }
			if slices.ContainsFunc(configurations, other) {
				differ[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(differ))
}

// knobOf returns a knob with the configurations' values: numbers in their order, then
// words.
func knobOf(name string, configurations []map[string]string) metrics.Knob {
	knob := metrics.Knob{Name: name}
	for _, c := range configurations {
		knob.Values = append(knob.Values, c[name])
	}
	slices.SortFunc(knob.Values, func(a, b string) int {
		return cmp.Or(cmp.Compare(Number(a), Number(b)), cmp.Compare(a, b))
	})
	knob.Values = slices.Compact(knob.Values)
	return knob
}

// Number returns the number that a text is; +Inf for other text.
func Number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}
