// Package pages makes the results of a graded class from its folder: the leaderboard,
// tables for gradebooks, and for each entry a page and a file for Gradescope. Names of
// entries are submitted: each file is safe in the program that reads it.
package pages

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"kvlab/extra/grade/evening"
	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots"
	"kvlab/plots/folder"
	"kvlab/plots/report"
)

//go:embed *.html class.css
var layouts embed.FS

// Row gives the pages to a program that draws run folders.
var Row = plots.Page{
	Of:    func(s *folder.Sweep) bool { return s.Class != nil },
	Files: Files,
	Usage: `A class's folder (of grade): leaderboard.html, grades.csv, canvas.csv, moodle.csv, and
for each entry entries/NAME/report.html and results.json.
`,
}

// Files makes the files of a class, whose evening need not have ended. A gradebook that
// cannot be filled in, or that lacks entries, is an error, a line each, beside the other
// files.
func Files(s *folder.Sweep) (files []report.File, err error) {
	s, evenings, err := evening.Whole(s)
	if err != nil {
		return nil, err
	}
	b := boardOf(s)
	b.Evenings = evenings
	page, err := report.Render("leaderboard.html", b, layouts)
	if err != nil {
		return nil, err
	}
	files = []report.File{{Name: "leaderboard.html", Text: page}, {Name: "grades.csv", Text: b.grades()}}
	if s.Standings.Void != "" && b.Class.Gradebook != nil {
		err = fmt.Errorf("no grades: %s", s.Standings.Void)
	}
	for _, r := range b.Rows {
		e := b.entry(r)
		page, unmade := report.Render("entry.html", e, layouts)
		if unmade != nil {
			return nil, unmade
		}
		folder := "entries/" + folderOf(r.Entry) + "/"
		files = append(files, report.File{Name: folder + "report.html", Text: page})
		switch {
		case r.Graded || b.Standings.Ended == "" && b.Standings.Void == "": // it says that it may still change
			results, unmade := e.gradescope()
			if unmade != nil {
				return nil, unmade
			}
			files = append(files, report.File{Name: folder + "results.json", Text: results})
		case b.Standings.Void == "" && !r.Reference && !r.Earlier && b.Class.Gradebook != nil:
			err = errors.Join(err, fmt.Errorf("no grade for %q: it has %s, and a grade needs %d: give the class a larger budget, and --resume", format.Label(r.Entry, 60), format.Plural(r.rounds(), "round"), b.Class.Looks[0]))
		}
		if r.Coarse && b.Class.Gradebook != nil && b.Standings.Ended != "" {
			err = errors.Join(err, fmt.Errorf("the grade of %q is %s, and the class wants ±%s %%: give the class a larger budget, and --resume", format.Label(r.Entry, 60), r.Worth(), format.Tenths(b.Class.Precision)))
		}
	}
	books, unfilled := b.gradebooks()
	return append(files, books...), errors.Join(err, unfilled)
}

// board is a class's folder as its files show it.
type board struct {
	*folder.Sweep
	Rows     []row           // the entries, those with a rank first
	Shared   []answer.Caveat // that all entries have, or that are of several together
	Walls    walls
	Evenings []evening.Evening // of which the trials are
}

// row is an entry's line of the leaderboard.
type row struct {
	metrics.Standing
	Of        metrics.Entry
	Reference bool
	Grade     float64         // points
	Graded    bool            // the grade is one to keep
	Coarse    bool            // the grade is known less well than the class wants
	Own       []answer.Caveat // that not all entries have
	Scale     scale
}

// Worth returns the score for people, with the half-width of its interval.
func (r row) Worth() string {
	half, known := r.PlusMinus()
	switch {
	case !r.Verdict.Valid:
		return "0 %"
	case !known:
		return format.Tenths(r.Score) + " %"
	}
	return fmt.Sprintf("%s ±%s %%", format.Tenths(r.Score), format.Tenths(half))
}

// rounds returns the number of rounds that measured the entry.
func (r row) rounds() int { return r.Valid + len(r.Failed) }

// Measured reports whether the entry has a result.
func (r row) Measured() bool { return r.Verdict.Valid && r.OpsPerS > 0 }

// boardOf returns the board of a class. It adds the entries that the standings lack so far.
func boardOf(s *folder.Sweep) *board {
	b := &board{Sweep: s, Walls: wallsOf(s)}
	for _, standing := range s.Standings.Entries {
		b.Rows = append(b.Rows, row{Standing: standing})
	}
	for _, e := range s.Class.Entries {
		at := slices.IndexFunc(b.Rows, func(r row) bool { return r.Entry == e.Name })
		if at < 0 {
			at = len(b.Rows)
			b.Rows = append(b.Rows, row{Standing: metrics.Standing{Entry: e.Name, Verdict: metrics.Verdict{Valid: e.Broken == ""}, Reason: e.Broken}})
		}
		b.Rows[at].Of = e
	}
	scale := scaleOf(b.Rows)
	for i := range b.Rows {
		r := &b.Rows[i]
		r.Reference, r.Scale, r.Grade = r.Entry == s.Class.Reference, scale, twoDecimals(r.Score/100*b.points())
		_, known := r.PlusMinus()
		r.Graded = s.Standings.Void == "" && !r.Earlier && (!r.Verdict.Valid || known && r.rounds() >= s.Class.Looks[0])
		r.Coarse = r.Graded && !r.Reference && !s.Class.Precise(r.Standing)
	}
	b.reserve()
	return b
}

// points returns what a score of 100 % is worth.
func (b *board) points() float64 {
	if b.Class.Gradebook == nil || b.Class.Gradebook.Points == 0 {
		return 100
	}
	return b.Class.Gradebook.Points
}

// reserve sorts the caveats into those of all entries and those of some.
func (b *board) reserve() {
	var names []string
	count := make(map[string]int) // of the entries that have it
	for i, r := range b.Rows {
		if !r.Measured() || r.Reference {
			continue
		}
		names = append(names, r.Entry)
		b.Rows[i].Own = slices.DeleteFunc(b.answer(r.Entry).Caveats, ofMachine)
		for _, caveat := range b.Rows[i].Own {
			count[caveat.Name]++
		}
	}
	if len(names) == 0 {
		return
	}
	some := func(r answer.Caveat) bool { return count[r.Name] > 0 && count[r.Name] < len(names) }
	b.Shared = slices.DeleteFunc(b.answer(names...).Caveats, some)
	for i := range b.Rows {
		b.Rows[i].Own = slices.DeleteFunc(b.Rows[i].Own, func(r answer.Caveat) bool { return !some(r) })
	}
}

// ofMachine reports whether a caveat is of the instructor's machine, which no student
// can change.
func ofMachine(r answer.Caveat) bool {
	return r.Name == answer.Crowded || r.Name == metrics.Leftover
}

// answer returns the answer of the valid trials of entries.
func (b *board) answer(names ...string) answer.Answer {
	plan := metrics.Sweep{Knobs: []metrics.Knob{{Name: metrics.EntryKnob, Values: names}}}
	var trials []metrics.Trial
	for _, name := range names {
		trials = append(trials, b.valid(name)...)
	}
	return answer.OfTrials(plan, trials)
}

// valid returns the valid trials of an entry.
func (b *board) valid(name string) []metrics.Trial {
	return slices.DeleteFunc(b.TrialsOf(name), func(t metrics.Trial) bool { return !t.Verdict.Valid })
}

// Ranked returns the entries that are ranked, grouped by rank.
func (b *board) Ranked() (groups [][]row) {
	for _, r := range b.Rows {
		last := len(groups) - 1
		switch {
		case r.Rank == 0:
		case last >= 0 && groups[last][0].Rank == r.Rank:
			groups[last] = append(groups[last], r)
		default:
			groups = append(groups, []row{r})
		}
	}
	return groups
}

// Unranked returns the reference and the entries without a rank.
func (b *board) Unranked() []row {
	return slices.DeleteFunc(slices.Clone(b.Rows), func(r row) bool { return r.Rank > 0 })
}

// Among returns how many entries are ranked.
func (b *board) Among() int { return len(b.Rows) - len(b.Unranked()) }

// Decided reports whether there are ranks to show: after the first look, of several
// entries.
func (b *board) Decided() bool { return b.Standings.Deciding > 0 && b.Among() > 1 }

// State returns how far the evening is, in sentences.
func (b *board) State() string {
	rounds := format.Plural(b.Standings.Rounds, "round")
	if dropped := len(b.Standings.Dropped); dropped > 0 {
		rounds += fmt.Sprintf(" and %d that other processes disturbed, which count for no entry", dropped)
	}
	if b.Standings.Ended == "" {
		return fmt.Sprintf("The evening has not ended: %s so far. Ranks and scores may still change.", rounds)
	}
	last := time.Time{}
	for _, t := range b.Trials {
		if t.Ended.After(last) {
			last = t.Ended
		}
	}
	return fmt.Sprintf("The evening ended at %s, after %s: %s.", last.UTC().Format("2006-01-02 15:04 UTC"), rounds, b.Standings.Ended)
}

// Parts says which trials are of which evening; nothing of one evening. One that went on after six
// hours or more is two.
func (b *board) Parts() (lines []string) {
	first := 1 // trial
	for _, e := range b.Evenings {
		subject := cmp.Or(e.Plan.Class.Subject, "all entries")
		for from, i := 0, 1; i <= len(e.Done); i++ {
			if i < len(e.Done) && e.Done[i].Started.Sub(e.Done[i-1].Ended) < 6*time.Hour {
				continue
			}
			lines = append(lines, fmt.Sprintf("%s to %s: trials %d to %d, of %s, in the folder %s", e.Done[from].Started.UTC().Format("2006-01-02 15:04"),
				e.Done[i-1].Ended.UTC().Format("2006-01-02 15:04 UTC"), first+from, first+i-1, format.Label(subject, 60), e.Folder))
			from = i
		}
		first += len(e.Done)
	}
	if len(lines) < 2 {
		return nil
	}
	return lines
}

// Continue returns the command that makes the rounds that are left.
func (b *board) Continue() string {
	dir, err := filepath.EvalSymlinks(b.Dir) // logs/latest may be another evening's tomorrow
	for _, e := range b.Evenings {
		if evening.Decide(e.Plan, e.Done).Ended == "" {
			dir = filepath.Join(dir, e.Folder)
			break
		}
	}
	return format.CommandLine([]string{"./run-cluster.sh", "--resume", cmp.Or(map[bool]string{true: dir}[err == nil], b.Dir)})
}

// Sample returns a run that has the class's work: the first that is valid, of the reference if
// it has one; nil without one.
func (b *board) Sample() (sample *folder.Run) {
	for i, t := range b.Trials {
		if own := t.Point[0] == b.Class.Reference; t.Verdict.Valid && (sample == nil || own) {
			if sample = b.Runs[i]; own {
				break
			}
		}
	}
	return sample
}
