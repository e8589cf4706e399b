// Package index lists the run folders below one folder, such as logs: for a terminal, and
// as a page.
package index

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
	"kvlab/metrics/curve"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
	"kvlab/plots/report"
)

// Entry is a run folder in one line. A folder without a result has
// no Verdict, and Result then says why.
type Entry struct {
	ID      string    `json:"id"`   // the folder's name
	Kind    string    `json:"kind"` // run, trials, sweep, curve, comparison, study or class
	Started time.Time `json:"started"`
	Commit  string    `json:"commit"`
	Work    string    `json:"work"`      // as in "YCSB-B theta 0.99, 2+2, slab"; of several points, of the first
	OpsPerS float64   `json:"ops_per_s"` // of a run, or the median of trials of one point; else 0
	P99     *float64  `json:"p99_us"`    // likewise: of the calls, in an open loop of the operations; nil if they are too few
	Verdict string    `json:"verdict"`   // VALID, CLAIMED, INVALID or INCOMPLETE
	Result  string    `json:"result"`    // the headline of several points, or why there is no result
	Page    string    `json:"page"`      // the file that shows it; "" without one

	Caveats []string `json:"caveats"` // their names

	UnderWay bool `json:"under_way"` // it has no result yet, and is being written
}

// Read lists the run folders in dir, the newest first, and says which are under way. A folder
// that cannot be read is an entry too. Read keeps what it finds in a file of dir, and reads a
// folder again when its results have changed.
func Read(dir string) ([]Entry, error) {
	all, err := read(dir)
	for i := range all {
		e := &all[i]
		none := e.Result == noResult
		e.UnderWay = (none || e.Verdict == "INCOMPLETE") && freshly(filepath.Join(dir, e.ID))
		if none && e.UnderWay {
			e.Result = ""
		} else if none {
			e.Result = "no run.json: it ended early, or is no run"
		}
	}
	return all, err
}

// read returns what Read does, without what is under way.
func read(dir string) ([]Entry, error) {
	folders, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	before, now, changed := readCache(dir), make(map[string]Entry), false
	var all []Entry
	for _, f := range folders {
		if !f.IsDir() || strings.HasPrefix(f.Name(), ".") { // a link, such as latest, is another's name
			continue
		}
		path := filepath.Join(dir, f.Name())
		stamp := stampOf(path)
		e, known := before[stamp]
		if !known {
			e, changed = entryOf(path), true
		}
		now[stamp], all = e, append(all, e)
	}
	if changed || len(now) < len(before) {
		writeCache(dir, now)
	}
	slices.SortFunc(all, func(a, b Entry) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.ID, a.ID))
	})
	return all, nil
}

// silence is how long a run under way may write nothing: its nodes write a record each second, and
// a launcher prepares them in less than a minute.
const silence = time.Minute

// freshly reports whether a file was just written in a run's folder or in that of its last trial.
func freshly(dir string) bool {
	files, _ := os.ReadDir(dir) // of none, nothing was
	trial := ""
	for _, f := range files {
		if info, err := f.Info(); err == nil && time.Since(info.ModTime()) < silence {
			return true
		}
		if f.IsDir() && strings.HasPrefix(f.Name(), "trial-") {
			trial = f.Name()
		}
	}
	if info, err := os.Stat(dir); len(files) == 0 && err == nil {
		return time.Since(info.ModTime()) < silence
	}
	return trial != "" && freshly(filepath.Join(dir, trial))
}

// State returns the verdict for people: "under way" if there is none yet, "-" if there will be none.
func (e Entry) State() string {
	if e.UnderWay {
		return "under way"
	}
	return cmp.Or(e.Verdict, "-")
}

// noResult says why a folder has no result.
const noResult = "no run.json: it is under way, ended early, or is no run"

// entryOf reads a folder.
func entryOf(dir string) Entry {
	of := ofRun
	if folder.IsSweep(dir) {
		of = ofSweep
	}
	e, err := of(dir)
	e.ID = filepath.Base(dir)
	if err != nil {
		e.Result = format.OneLine(strings.ReplaceAll(err.Error(), dir+"/", ""))
	}
	if info, err := os.Stat(dir); err == nil && e.Started.IsZero() {
		e.Started = info.ModTime()
	}
	e.Page = folder.Page(dir)
	return e
}

// ofRun returns the entry of a run.
func ofRun(dir string) (Entry, error) {
	r, err := folder.LoadResult(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New(noResult)
	}
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Kind: "run", Started: r.Started, Commit: r.GitCommit, Work: workOf(r)}
	e.judge(answer.Of(r.Run))
	if r.Verdict.Stands() {
		e.measure([]metrics.Trial{metrics.TrialOf(metrics.PlannedTrial{}, "", r.Run)})
	}
	return e, nil
}

// ofSweep returns the entry of several trials.
func ofSweep(dir string) (Entry, error) {
	s, err := folder.LoadSweep(dir)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Kind: kindOf(s), Started: s.Started, Commit: s.GitCommit}
	for _, p := range s.Points {
		if p.Run != nil && e.Work == "" {
			e.Work = workOf(p.Run)
		}
	}
	if s.Class != nil {
		e.grade(s)
		return e, nil
	}
	a := report.AnswerOf(s)
	if e.judge(a); a.Left > 0 {
		e.Result = s.Progress()
	}
	switch {
	case !a.Good:
	case e.Kind == "trials" && s.Points[0].OK():
		e.measure(s.Points[0].Valid)
	default:
		e.Result = a.Headline
	}
	return e, nil
}

// kindOf names what the trials of a sweep are for.
func kindOf(s *folder.Sweep) string {
	switch {
	case s.Class != nil:
		return "class"
	case s.Study != nil:
		return "study"
	case len(s.Variants) > 0:
		return "comparison"
	case curve.Is(s.Sweep):
		return "curve"
	case len(s.Points) == 1:
		return "trials"
	}
	return "sweep"
}

// judge takes over a verdict, and of a failure the reason.
func (e *Entry) judge(a answer.Answer) {
	e.Verdict, _, _ = strings.Cut(a.Verdict, ",") // the caveats follow
	for _, r := range a.Caveats {
		e.Caveats = append(e.Caveats, r.Name)
	}
	if !a.Good {
		e.Result = a.Headline
	}
}

// measure takes over the medians of the valid trials of one point.
func (e *Entry) measure(trials []metrics.Trial) {
	var rates, p99s []float64
	for _, t := range trials {
		p99 := t.P99
		if t.OfferedOpsPerS > 0 {
			p99 = t.OpP99
		}
		if rates = append(rates, t.OpsPerS); p99 != nil {
			p99s = append(p99s, *p99)
		}
	}
	if e.OpsPerS = stats.Median(rates); len(p99s) == len(rates) {
		e.P99 = new(stats.Median(p99s))
	}
}

// grade takes over the standings of a class.
func (e *Entry) grade(s *folder.Sweep) {
	if e.Verdict = "VALID"; s.Standings.Ended == "" {
		e.Verdict = "INCOMPLETE"
	}
	e.Result = fmt.Sprintf("%d entries, %s", len(s.Class.Entries), format.Plural(s.Standings.Rounds, "round"))
	if all := s.Standings.Entries; len(all) > 0 && all[0].Rank > 0 {
		e.Result += fmt.Sprintf("; %s leads with %.3gx the reference", all[0].Entry, all[0].Ratio)
	}
}

// workOf returns a run's work, servers and clients, and store, in a few words.
func workOf(r *folder.Run) string {
	nodes := fmt.Sprintf("%d+%d", r.Count(metrics.Server), r.Count(metrics.Client))
	if r.Symmetric {
		nodes += " symmetric"
	}
	store := r.Settings(metrics.Server).Engine()
	if r.Store != nil {
		store = r.Store.Title()
	}
	return strings.Join(format.NonEmpty(folder.DescribeWork(r.Workload), nodes, store), ", ")
}
