package evening

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kvlab/kvs/experiment"
	"kvlab/kvs/verdict"
	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Experiment measures the entries of a class, round by round. Its result is their standings.
type Experiment struct {
	experiment.Sweep
	Length func(args string) time.Duration // estimates how long a trial takes with these launcher flags
	Log    func(metrics.Trial) string      // returns the end of what the servers of a trial said, for a class of one folder; nil for none
	Term   Term                            // the class that the evening is of, if it has others
}

// Of returns the experiment of a plan.
func Of(plan metrics.Sweep, length func(args string) time.Duration) Experiment {
	spec := func(point []string) experiment.Spec {
		at := slices.IndexFunc(plan.Class.Entries, func(e metrics.Entry) bool { return e.Name == point[0] })
		return SpecOf(plan.Class.Entries[at])
	}
	return Experiment{Sweep: experiment.Sweep{Plan: plan, Spec: spec}, Length: length}
}

// Next returns the trials that remain of the round under way, or those of the next one;
// none at the end of the evening.
func (e Experiment) Next(done []metrics.Trial) ([]experiment.Group, error) {
	var groups []experiment.Group
	course := courseOf(e.Plan, done)
	of := course.of(len(done))
	for _, p := range course.left {
		label := fmt.Sprintf("round %d, %s", p.Round, p.Point[0]) // the team, which a number does not tell
		groups = append(groups, experiment.Group{{PlannedTrial: p, Of: of, Label: label, Told: label, Quiet: true, Spec: e.Spec(p.Point)}})
	}
	return groups, nil
}

// Specs returns the specs that are known before the first trial. An entry that may become a
// neighbour of the subject is built when it is one.
func (e Experiment) Specs() (specs []experiment.Spec) {
	for _, name := range courseOf(e.Plan, nil).active() {
		specs = append(specs, e.Spec([]string{name}))
	}
	return specs
}

// Outline returns who is measured and for how long, for --dry-run.
func (e Experiment) Outline() string {
	class, round := e.Plan.Class, time.Duration(0)
	for _, spec := range e.Specs() {
		round += e.Length(spec.Args)
	}
	n := len(e.Plan.Knobs[0].Values)
	if class.Subject != "" {
		n = len(e.Specs())
	}
	text := fmt.Sprintf("%s: %s in each round, at least %.1f minutes, in random order by --seed %d\ndecides after %s rounds", class.Title, format.Plural(n, "trial"), round.Minutes(), e.Plan.Seed,
		strings.ReplaceAll(strings.Trim(fmt.Sprint(class.Looks), "[]"), " ", ", "))
	if class.BudgetS > 0 {
		text += fmt.Sprintf(", or after %.0f minutes, which is some %.0f rounds", class.BudgetS/60, class.BudgetS/round.Seconds())
	}
	return text + "\n"
}

// Files returns the files of a sweep, and the standings.
func (e Experiment) Files(done []metrics.Trial, ended bool) map[string]any {
	files := e.Sweep.Files(done, ended)
	files[metrics.StandingsFile] = Decide(e.Plan, done)
	if len(e.Term.Evenings) > 0 && e.Term.Evenings[0].Plan.ID == e.Plan.ID && !e.Term.isPlain() { // the folder of the class
		files[metrics.StandingsFile] = e.standings(done)
	}
	return files
}

// standings returns the standings of the class with this evening.
func (e Experiment) standings(done []metrics.Trial) metrics.Standings {
	_, _, s := e.Term.with(e.Plan, done).Whole()
	return s
}

// Conclude returns the results of the entries and the standings, and the verdict on the
// evening. An INVALID entry does not make it INVALID, but a reference that fails does. An
// evening that is interrupted has its pages.
func (e Experiment) Conclude(done []metrics.Trial, err error) experiment.Conclusion {
	end := e.Sweep.Conclude(done, err)
	end.Drawn = len(done) > 0
	if err != nil {
		return end
	}
	end.Brief = Table(e.standings(done)) + e.log(done)
	end.Full += end.Brief
	end.Verdict, end.Answer = e.verdict(done), e.Answer(done)
	return end
}

// log returns the end of what the server said whose folder alone is checked, if it has failed: the
// lines to mend.
func (e Experiment) log(done []metrics.Trial) string {
	failures := courseOf(e.Plan, done).failures[e.Plan.Class.Entries[len(e.Plan.Class.Entries)-1].Name]
	if e.Log == nil || len(failures) == 0 {
		return ""
	}
	failed := slices.IndexFunc(done, func(t metrics.Trial) bool { return t.Number == failures[0].number })
	if text := e.Log(done[failed]); text != "" {
		return "the end of its log:\n  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n\n"
	}
	return ""
}

func (e Experiment) verdict(done []metrics.Trial) metrics.Verdict {
	s := Decide(e.Plan, done)
	if s.Void != "" {
		return metrics.Verdict{Reason: s.Void}
	}
	course := courseOf(e.Plan, done)
	for _, failures := range course.failures {
		if e.one() && len(failures) > 0 {
			return failures[0].verdict
		}
	}
	return metrics.Verdict{Valid: true}
}

// one reports whether the class is one folder in one round, as for --check-one.
func (e Experiment) one() bool { return len(e.Plan.Class.Looks) == 1 }

// Answer returns the answer of a class.
func (e Experiment) Answer(done []metrics.Trial) answer.Answer {
	if v := e.verdict(done); !v.Valid {
		a := answer.Of(metrics.Run{Result: metrics.Result{Verdict: v}})
		if v.Check != "" {
			a.Next = Advice(v)
		}
		return a
	}
	s, ranked, invalid := e.standings(done), 0, 0
	for _, entry := range s.Entries {
		switch {
		case !entry.Verdict.Valid:
			invalid++
		case entry.Rank > 0:
			ranked++
		}
	}
	a := answer.Answer{Good: true, Verdict: "VALID"}
	a.Headline = fmt.Sprintf("%s ranked, %d INVALID", format.Plural(ranked, "store"), invalid)
	a.Basis = fmt.Sprintf("%s, %s: %s", format.Plural(s.Rounds, "round"), format.Plural(len(done), "trial"), s.Ended)
	if len(s.Dropped) > 0 {
		a.Basis += fmt.Sprintf("; %s more, which other processes disturbed, %s for no entry", format.Plural(len(s.Dropped), "round"), map[bool]string{true: "counts", false: "count"}[len(s.Dropped) == 1])
	}
	a.Next = "measure a resubmission: the same command with --only NAME"
	switch {
	case e.one():
		a.Headline, a.Next = "the class would measure this store", "one round is no grade: the class measures several"
	case s.Deciding == 0:
		a.Basis += ", and these are too few to tell anybody apart"
	}
	return a
}

// Advice says what to do about an entry that is INVALID. Where the reference starts, an entry that
// ends before its first record is the machine's fault less often than its own.
func Advice(v metrics.Verdict) string {
	if v.Check == outside && v.Node != "" {
		return "Your server ended, or was not ready, before the first record was loaded, where the reference was ready: its last lines say why. If they do not, tell the instructor, who can measure again."
	}
	return verdict.Advice(v)
}

// outside is the check of what ends a run before its first record is loaded, or from outside.
const outside = "outside"

// Table has a line for each entry, in 80 columns, and a sentence for each that is INVALID.
func Table(s metrics.Standings) string {
	rows, reasons := [][]string{{"rank", "entry", "ratio, its 95 % interval", "score"}}, ""
	for _, entry := range s.Entries {
		rank, ratio, percent := "-", "-", "INVALID"
		if entry.Rank > 0 {
			rank = fmt.Sprint(entry.Rank)
		}
		if entry.RankHigh > entry.RankLow {
			rank += fmt.Sprintf(" (%d to %d)", entry.RankLow, entry.RankHigh)
		}
		if entry.Ratio > 0 {
			ratio = fmt.Sprintf("%.3fx", entry.Ratio)
		}
		if entry.RatioHigh > 0 {
			ratio += fmt.Sprintf(", %.3f to %.3f", entry.RatioLow, entry.RatioHigh)
		}
		if entry.Verdict.Valid {
			percent = fmt.Sprintf("%.1f %%", entry.Score)
			if half, known := entry.PlusMinus(); known {
				percent = fmt.Sprintf("%.1f ±%.1f %%", entry.Score, half)
			}
		} else {
			reasons += format.Wrap(fmt.Sprintf("%s: %s", entry.Entry, format.Label(format.OneLine(entry.Reason), 400)), 0, 2) + "\n"
		}
		rows = append(rows, []string{rank, format.Label(entry.Entry, 26), ratio, percent})
	}
	if reasons != "" {
		reasons = "\n" + reasons
	}
	return "\n" + format.Aligned(rows) + reasons + "\n"
}
