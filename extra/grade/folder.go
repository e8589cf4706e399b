package grade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"kvlab/extra/grade/evening"
	"kvlab/extra/grade/pages"
	"kvlab/internal/cli"
	"kvlab/kvs/cluster"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/trial"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots"
)

// open reads a class file, or the folder of a class, whose file it finds in its records.
func (p *planner) open(path string) (err error) {
	if info, failed := os.Stat(path); failed == nil && info.IsDir() {
		if p.dir, err = filepath.EvalSymlinks(path); err == nil { // the latest may be another tomorrow
			p.dir, err = filepath.Abs(p.dir)
		}
		if err == nil {
			p.term, err = evening.Load(p.dir)
		}
		if err != nil {
			return err
		}
		words := p.term.Evenings[0].Plan.Command
		path = plan.ValueOf(words, "class")
		if i := slices.Index(words, "grade"); path == "" && i >= 0 && i+1 < len(words) {
			path = words[i+1]
		}
		if p.term.Scale != nil {
			path = p.term.Scale.File
		}
	}
	p.file, err = Read(path)
	return err
}

// settleFolder checks what is asked of a class's folder, and makes the folder of the evening a part
// of it.
func (p *planner) settleFolder(cfg *cluster.Config) error {
	asked := format.NonEmpty(p.scale, p.add, p.regrade, p.join)
	switch {
	case p.dir == "" && len(asked) > 0:
		return errors.New("--scale, --add, --regrade and --join need the folder of a class, as in grade logs/latest --add NAME")
	case p.dir == "":
		return nil
	case len(asked) > 1 || p.only+p.folder != "":
		return errors.New("want one of --scale, --add, --regrade and --join, and no --only or --check-one, beside the folder of a class")
	case p.flags.Lookup("out").Value.String() != p.flags.Lookup("out").DefValue:
		return errors.New("--out: another evening of a class is measured in the class's folder: leave it out")
	case p.scale != "":
		cfg.Work = p.rescale
	case p.join != "":
		cfg.Work = p.joinEvening
	}
	cfg.Out, cfg.Name = p.dir, cmp.Or(cfg.Name, p.add, p.regrade)
	cfg.After = func(w io.Writer) error {
		_, err := redraw(p.dir, w)
		return err
	}
	return nil
}

// rescale computes the class's standings and pages by the scale of another class file.
func (p *planner) rescale(site cluster.Site, w io.Writer) error {
	file, err := Read(p.scale)
	if err != nil {
		return fmt.Errorf("--scale: %w", err)
	}
	class, err := file.Class("", "", site.Check)
	if err = cmp.Or(err, pages.CheckGradebook(class.Gradebook)); err != nil {
		return fmt.Errorf("--scale: %w", err)
	}
	begun := *p.term.Evenings[0].Plan.Class
	class.Entries[0].Commit = begun.Entries[0].Commit // only a build tells it
	if why := evening.UnlikeClass(begun, class); why != "" {
		return fmt.Errorf("--scale %s: what is measured has changed, which needs another evening: %s", p.scale, why)
	}
	scale := evening.ScaleOf(class)
	scale.File = file.Path
	p.term.Scale = nil
	whole, _, _ := p.term.Whole()
	for _, was := range whole.Class.Entries {
		at := slices.IndexFunc(class.Entries, func(e metrics.Entry) bool { return sameSubmission(was, e) })
		if at >= 0 && !slices.ContainsFunc(class.Entries, func(e metrics.Entry) bool { return e.Name == was.Name }) {
			scale.Names[was.Name] = class.Entries[at].Name
		}
	}
	if err := trial.Folder(p.dir).WriteJSON(evening.ScaleFile, scale); err != nil {
		return err
	}
	return p.show(w)
}

// show computes the class's standings and pages, and prints its table.
func (p *planner) show(w io.Writer) error {
	standings, err := redraw(p.dir, w)
	if err == nil {
		_, err = fmt.Fprintf(w, "%s%s\n", evening.Table(standings), filepath.Join(p.dir, "leaderboard.html"))
	}
	return err
}

// joinEvening makes another evening's folder a part of the class's.
func (p *planner) joinEvening(_ cluster.Site, w io.Writer) error {
	from, err := filepath.EvalSymlinks(p.join)
	if err != nil {
		return fmt.Errorf("--join: %w", err)
	}
	other, err := evening.Load(from)
	if err != nil {
		return fmt.Errorf("--join: %w", err)
	}
	if why := evening.Unlike(p.term.Evenings[0], other.Evenings[0]); why != "" {
		return fmt.Errorf("--join %s: what is measured there is another %s", p.join, why)
	}
	to := filepath.Join(p.dir, filepath.Base(from))
	if other.Evenings[0].Plan.Started.Before(p.term.Evenings[0].Plan.Started) {
		return fmt.Errorf("--join %s: it began before the class's first evening: join that one into it", p.join)
	}
	if len(other.Evenings) > 1 || slices.ContainsFunc(p.term.Evenings, func(e evening.Evening) bool { return e.Plan.ID == other.Evenings[0].Plan.ID }) {
		return fmt.Errorf("--join %s: want an evening that has no others, and that the class does not have", p.join)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return fmt.Errorf("--join: %w", err)
	}
	return p.show(w)
}

// redraw computes the standings and the pages of a class's folder from all of its evenings.
func redraw(dir string, w io.Writer) (s metrics.Standings, err error) {
	to := trial.Folder(dir)
	lock, err := to.Lock()
	if err != nil {
		return s, err
	}
	defer lock.Release()
	t, err := evening.Load(dir)
	if err != nil {
		return s, fmt.Errorf("the class is drawn again once this is mended, or moved elsewhere: %w", err)
	}
	_, _, s = t.Whole()
	if err := to.WriteJSON(metrics.StandingsFile, s); err != nil {
		return s, err
	}
	if _, err := (plots.Pages{pages.Row}).Draw(dir); err != nil {
		fmt.Fprintf(w, "not everything is drawn: %v\n", err)
	}
	return s, to.WriteManifest()
}

// subject makes a class one that measures an entry again, or for the first time, beside the
// reference and those of the class's entries that may be its neighbours in rank.
func (p *planner) subject(class *metrics.Class) error {
	name, option := cmp.Or(p.add, p.regrade), "--add"
	if p.regrade != "" {
		option = "--regrade"
	}
	at := slices.IndexFunc(class.Entries, func(e metrics.Entry) bool { return e.Name == name })
	if at < 1 {
		var names []string
		for _, e := range class.Entries[1:] {
			names = append(names, e.Name)
		}
		return fmt.Errorf("%s %s: %s has no such entry%s", option, name, p.file.Path, cli.DidYouMean(name, "", names))
	}
	whole, _, standings := p.term.Whole()
	subject := class.Entries[at]
	known := slices.IndexFunc(whole.Class.Entries, func(e metrics.Entry) bool { return e.Name == name })
	same := known >= 0 && sameSubmission(whole.Class.Entries[known], subject)
	switch {
	case p.add != "" && same:
		return fmt.Errorf("--add %s: this submission is measured already: --regrade measures it again", name)
	case p.regrade != "" && known < 0:
		return fmt.Errorf("--regrade %s: the class has not measured it: --add does", name)
	case p.regrade != "" && !same:
		return fmt.Errorf("--regrade %s: its files have changed since, so it is another submission: --add measures it, and then it counts", name)
	}
	entries := []metrics.Entry{class.Entries[0], subject}
	for _, s := range standings.Entries {
		i := slices.IndexFunc(class.Entries, func(e metrics.Entry) bool { return e.Name == s.Entry })
		j := slices.IndexFunc(whole.Class.Entries, func(e metrics.Entry) bool { return e.Name == s.Entry })
		if s.Rank > 0 && s.Entry != name && i > 0 && sameSubmission(whole.Class.Entries[j], class.Entries[i]) {
			entry := whole.Class.Entries[j]
			entry.Ratio = s.Ratio
			entries = append(entries, entry)
		}
	}
	class.Entries, class.Subject = entries, name
	return nil
}

// sameSubmission reports whether an entry of the class file is what was measured. The commit of a
// revision is known once it is built.
func sameSubmission(measured, now metrics.Entry) bool {
	return measured.Source == now.Source && measured.Kind == now.Kind && (measured.Source != "" || measured.Args == now.Args)
}

// build builds the entries that are measured in any case, and says of what.
func (p *planner) build(ctx context.Context, site cluster.Site, class metrics.Class) error {
	for i := range class.Entries {
		e := &class.Entries[i]
		if e.Broken != "" || e.Ratio > 0 { // which was built for another evening, and is if it becomes a neighbour
			continue
		}
		built, err := site.Build(ctx, evening.SpecOf(*e))
		switch {
		case ctx.Err() != nil:
			return plan.ErrInterrupted
		case err != nil && i == 0:
			return err
		case err != nil:
			e.Broken = broken(*e, err)
		case e.Kind == metrics.TargetEntry:
			e.Sum = built.Programs[plan.Store]
		default:
			e.Commit, e.Sum = built.ServerCommit, built.Programs[metrics.Server]
		}
	}
	return nil
}
