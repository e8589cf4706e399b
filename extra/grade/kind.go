package grade

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"kvlab/extra/grade/evening"
	"kvlab/extra/grade/pages"
	"kvlab/internal/cli"
	"kvlab/kvs/cluster"
	"kvlab/kvs/experiment"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Kind adds the command grade, and its flag --class, to the launcher.
var Kind = cluster.Kind{
	Flag: "class", Word: "grade", Value: "a class file, as in grade class.toml", Topic: "class", Flags: "class only check-one scale add regrade join",
	Once: "it is a class: run-cluster.sh grade measures its entries again",
	Rules: []cluster.Rule{
		{Flag: "seed", Needs: "class"},
		{Flag: "only", Needs: "class", Excludes: "check-one"},
		{Flag: "check-one", Needs: "class"},
		{Flag: "scale", Needs: "class"},
		{Flag: "add", Needs: "class"},
		{Flag: "regrade", Needs: "class"},
		{Flag: "join", Needs: "class"},
		{Flag: "class", Beside: "only check-one scale add regrade join resume out name seed v no-ceiling nodes hosts local slurm virtual link-rate ssh-config dry-run preflight check json deadline tune",
			Why: "the class file decides on"},
	},
	New: func(fs *flag.FlagSet, cfg *cluster.Config) cluster.Planner {
		p := &planner{flags: fs}
		fs.Func("class", "rank and grade the entries of a class `file` against its reference, in rounds that measure every entry; \"run-cluster.sh grade FILE\" is the same (docs/grading.md)", func(text string) error {
			cfg.NoCeiling = true
			return p.open(text)
		})
		fs.StringVar(&p.only, "only", "", "with --class: measure this `entry` and the reference alone, such as a store that was submitted again")
		fs.StringVar(&p.folder, "check-one", "", "with --class: check the store in this `folder` as the class would, in one round beside the reference")
		fs.StringVar(&p.scale, "scale", "", "with grade and the folder of a class: compute its grades and pages again by the scale of this class `file`, without measuring")
		fs.StringVar(&p.add, "add", "", "with grade and the folder of a class: measure this `entry` too, beside the reference and its neighbours in rank, and rank it among all")
		fs.StringVar(&p.regrade, "regrade", "", "with grade and the folder of a class: measure this `entry` once more, as --add does")
		fs.StringVar(&p.join, "join", "", "with grade and the folder of a class: take the evening in this `folder` into it")
		return p
	},
}

// planner plans the trials of a class.
type planner struct {
	flags  *flag.FlagSet // of the command line
	file   *File         // nil for none
	only   string        // the entry that is measured beside the reference; "" for all
	folder string        // a folder that is checked in place of the class's entries; "" for none

	dir     string       // a class's folder, of which this is another evening; "" for none
	term    evening.Term // what it has
	scale   string       // a class file whose scale it gets; "" for none
	add     string       // the entry that it gets; "" for none
	regrade string       // the entry that is measured again; "" for none
	join    string       // the folder of an evening that it gets; "" for none
}

// Asked reports whether there is a class.
func (p *planner) Asked() bool { return p.file != nil }

// Settle gives the command line the class's limits and its work.
func (p *planner) Settle(cfg *cluster.Config) error {
	cfg.Accept = p.file.Check
	return cmp.Or(p.settleFolder(cfg), p.file.Limit(cfg.SetContain))
}

const (
	// deadline and three times the expected length are the deadline of a class's trial
	// without --deadline: a store that hangs costs no more. The window of a slow one, or on a
	// busy machine, may become as long as any.
	deadline = 30*time.Second + metrics.LongestWindow
	// mostBroken is the most that is kept of what a compiler says, in characters.
	mostBroken = 4000
)

// Plan completes a plan by the entries of the class. Those that do not build are kept with
// the reason. A mistake in the file is an error, and so is whatever the reference has.
func (p *planner) Plan(ctx context.Context, site cluster.Site, sweep metrics.Sweep) (metrics.Sweep, string, error) {
	class, err := p.file.Class(p.only, p.folder, site.Check)
	if err == nil && p.add+p.regrade != "" {
		err = p.subject(&class)
	}
	if err = cmp.Or(err, pages.CheckGradebook(class.Gradebook)); err != nil {
		return sweep, "", err
	}
	site.Limit(deadline + 3*site.Length(class.Entries[0].Args))
	if err := p.build(ctx, site, class); err != nil {
		return sweep, "", err
	}
	if p.dir != "" {
		class.Gradebook = nil // the class fills it in
		today := evening.Evening{Plan: sweep}
		today.Plan.Class = &class
		if why := evening.Unlike(p.term.Evenings[0], today); why != "" {
			return sweep, "", fmt.Errorf("this is no evening of the class in %s: it has another %s", p.dir, why)
		}
	}
	if why := class.Entries[len(class.Entries)-1].Broken; why != "" && p.folder != "" {
		return sweep, "", fmt.Errorf("%s does not build: %s", p.folder, why)
	}
	return evening.Planned(sweep, class), missing(class), nil
}

// broken returns why an entry does not build, without its name and its path, which other
// students would see.
func broken(e metrics.Entry, err error) string {
	why := strings.TrimPrefix(format.OneLine(errors.Unwrap(err).Error()), "--target: ")
	words, _ := cli.SplitWords(e.Args)
	if metrics.SourceOf(words).Path() != "" {
		why = strings.TrimPrefix(why, words[0]+": ")
	}
	return format.Label(why, mostBroken)
}

// missing lists the entries that cannot be measured, a line each.
func missing(class metrics.Class) string {
	var b strings.Builder
	for _, entry := range class.Entries {
		if entry.Broken != "" {
			fmt.Fprintln(&b, format.Wrap(fmt.Sprintf("%s does not build: %s", entry.Name, format.Label(format.OneLine(entry.Broken), 400)), 0, 2))
		}
	}
	return b.String()
}

// Experiment returns the experiment of a plan.
func (p *planner) Experiment(site cluster.Site, sweep metrics.Sweep) experiment.Experiment {
	e := evening.Of(sweep, site.Length)
	if e.Term = p.term; p.dir == "" && site.Dir() != "" {
		e.Term, _ = evening.Load(site.Dir()) // which may be that of a class with other evenings
	}
	if p.folder != "" {
		e.Log = func(t metrics.Trial) string { return pages.LogOf(site.Dir(), t) }
	}
	return e
}

// Continue returns the plan that was begun, with today's budget: scores may need more rounds
// than were thought. The entries, and the rest of the class, are the same.
func (p *planner) Continue(begun, today metrics.Sweep) (metrics.Sweep, error) {
	there, here := begun.Class, today.Class
	if there == nil || here == nil || len(there.Entries) != len(here.Entries) {
		return begun, errors.New("the class has other entries")
	}
	for i, e := range there.Entries {
		if !same(e, here.Entries[i]) {
			return begun, fmt.Errorf("the entry %s has changed since: measure a new version with --only %[1]s", e.Name)
		}
	}
	now := *here
	now.Entries = there.Entries
	before := *there
	before.BudgetS = now.BudgetS
	if why := evening.UnlikeClass(before, now); why != "" {
		return begun, fmt.Errorf("the class's file has changed: %s", why)
	}
	if !experiment.SameRecord(before, now) {
		return begun, errors.New("the scale in the class's file has changed: put it back, and then grade FOLDER --scale FILE computes the grades by another one, without measuring")
	}
	begun.Class = &before
	return begun, nil
}

// same reports whether an entry is what it was. What builds a foreign store may make another
// program of the same source each time.
func same(a, b metrics.Entry) bool {
	if a.Kind == metrics.TargetEntry {
		a.Sum = b.Sum
	}
	return a.Name == b.Name && a.Kind == b.Kind && a.Args == b.Args && a.Commit == b.Commit && a.Sum == b.Sum && a.Source == b.Source && (a.Broken == "") == (b.Broken == "")
}
