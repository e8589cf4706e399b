package grade

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"kvlab/extra/grade/evening"
	"kvlab/internal/cli"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Class returns the entries of a file, the reference first, after it has looked for their
// folders. With only, it has that entry and the reference alone; with folder, that folder in
// place of the file's entries, for one round. check returns what is wrong with an entry's
// launcher flags.
func (f *File) Class(only, folder string, check func(args string) error) (metrics.Class, error) {
	looks := evening.Looks
	if folder != "" {
		looks = []int{1}
		path, err := filepath.Abs(folder)
		if err != nil {
			return metrics.Class{}, err
		}
		f.Entries = []Entry{f.submitted(path, path, Entry{where: f.Path})}
	}
	if err := f.settle(); err != nil {
		return metrics.Class{}, err
	}
	book := f.Gradebook
	if folder != "" {
		book = nil // one round is no grade
	}
	class := metrics.Class{
		Title: f.Title, Reference: f.Reference.Name, Alpha: evening.Alpha, Looks: looks, Equal: evening.Equal,
		Precision: f.precision(),
		BudgetS:   time.Duration(f.Budget).Seconds(), MemoryMB: float64(f.Gates.Memory) / 1e6, Allow: f.Work.Allow, Gradebook: book,
	}
	for _, s := range f.Score.Steps {
		class.Score = append(class.Score, metrics.ScoreStep{Ratio: s.At, Percent: s.Percent})
	}
	var names []string
	for i, e := range append([]Entry{f.Reference}, f.Entries...) {
		if names = append(names, e.Name); i > 0 && only != "" && e.Name != only {
			continue
		}
		args, err := f.args(e)
		if err == nil {
			err = check(args)
		}
		if err != nil {
			return class, fmt.Errorf("%s: %s: %w", e.where, e.Name, err)
		}
		class.Entries = append(class.Entries, metrics.Entry{Name: e.Name, Kind: e.kind(), From: e.from(), Args: args, Source: e.source, Students: e.Students, Broken: e.broken})
	}
	if only != "" && len(class.Entries) < 2 {
		return class, fmt.Errorf("--only %s: %s has no such entry%s", only, f.Path, cli.DidYouMean(only, "", names[1:]))
	}
	return class, nil
}

// args returns the launcher flags of an entry, as a variant of --ab has them: those of all
// entries come first, so that its own win. Check refuses one that changes the work.
func (f *File) args(e Entry) (string, error) {
	scale, _ := cli.SplitWords(f.Work.Args) // check has seen it
	own, err := cli.SplitWords(e.Args)
	var source, last []string
	switch {
	case e.aimed != "":
		last = []string{"--target", e.aimed}
	case e.Revision != "":
		source = []string{metrics.ServersAlone + e.Revision}
	case e.Checkout != "":
		source = []string{metrics.ServersAlone + f.path(e.Checkout)}
	case e.Target != "":
		last = []string{"--target", f.path(e.Target)}
	}
	if f.Gates.Linearizable {
		last = append(last, "--linearizable")
	}
	var work []string
	for _, arg := range f.Work.Work.Args() {
		work = append(work, "-"+arg) // two dashes: the launcher's form
	}
	return format.CommandLine(slices.Concat(source, scale, work, own, last)), err
}
