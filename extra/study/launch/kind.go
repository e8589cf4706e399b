// Package launch plans the trials of --study.
package launch

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"kvlab/extra/study"
	"kvlab/kvs/cluster"
	"kvlab/kvs/experiment"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

// Kind adds --study to the launcher.
var Kind = cluster.Kind{
	Flag: "study", Topic: "experiments", Flags: "study", Quick: true,
	Rules: []cluster.Rule{
		{Flag: "study", Excludes: "sweep curve slo ab until soak grade selftest secs symmetric servers-per-node clients-per-node baseline restart-at"},
		{Flag: "seed", Needs: "study"},
	},
	New: func(fs *flag.FlagSet, cfg *cluster.Config) cluster.Planner {
		p := &planner{cfg: cfg}
		fs.Func("study", "test claims of reports: `NAME` is one or more studies of --study list, separated by commas, or all, or a file of your own, such as mine.toml (docs/experiments.md); --quick takes their quick form", func(text string) (err error) {
			if p.list = text == "list"; p.list {
				text = "all"
			}
			cfg.NoCeiling = true // which is a trial of each point more
			p.files, err = study.ReadAll(text)
			return err
		})
		return p
	},
}

// planner plans the trials of --study.
type planner struct {
	cfg   *cluster.Config
	files []study.File
	list  bool // print the studies, start nothing
}

// Asked reports whether there are studies.
func (p *planner) Asked() bool { return len(p.files) > 0 }

// Settle checks that the studies decide on the trials.
func (p *planner) Settle(cfg *cluster.Config) error {
	if p.list {
		cfg.Work = p.print
	}
	switch n := cfg.Trials.Trials; {
	case cfg.Servers > 0 || len(cfg.ServerArgs) > 0 || len(cfg.ClientArgs) > 0:
		return errors.New("--study: the study says how many servers and clients run, and with which arguments: leave them out")
	case n > 0 && n < stats.RatioTrials:
		return fmt.Errorf("--trials %d: a study needs at least %d", n, stats.RatioTrials)
	}
	return nil
}

// Plan completes a plan by the points that can be measured here.
func (p *planner) Plan(ctx context.Context, site cluster.Site, plan metrics.Sweep) (metrics.Sweep, string, error) {
	here := study.Here{Nodes: site.Machines(), Root: os.Geteuid() == 0, Rivals: site.Rivals}
	here.Program = func(name string) bool { _, err := exec.LookPath(name); return err == nil }
	here.Hosts = sync.OnceValues(func() ([]metrics.Host, error) { return site.Hosts(ctx) })
	fits := func(args string) string {
		if err := site.Fits(ctx, args); err != nil {
			return fmt.Sprintf("needs other nodes: %v", err)
		}
		return ""
	}
	tested, trials := study.Plan(p.files, p.cfg.Quick, plan.Trials, here.Missing, fits)
	plan.Trials = 0
	plan = study.Planned(plan, tested, trials)
	return plan, study.Missing(tested), nil
}

// Experiment returns the experiment of a plan.
func (p *planner) Experiment(site cluster.Site, plan metrics.Sweep) experiment.Experiment {
	return study.Of(plan, site.Dir(), site.Length)
}

// Continue returns the plan that was begun, whose studies are today's.
func (p *planner) Continue(begun, today metrics.Sweep) (metrics.Sweep, error) {
	if !experiment.SameRecord(begun.Study, today.Study) {
		return begun, errors.New("the study's file, or what it needs, has changed")
	}
	return begun, nil
}

// print lists the studies, with the minutes that they take on one machine.
func (p *planner) print(site cluster.Site, w io.Writer) error {
	for _, f := range p.files {
		minutes := func(quick bool) float64 {
			return f.Minutes(quick, func(args string) time.Duration { return site.Length(args) })
		}
		_, err := fmt.Fprintf(w, "%s: %s, %s, from %.1f minutes, %.1f with --quick\n  %s\n", f.Name, format.Plural(len(f.Claims), "claim"), format.Plural(len(f.Points), "point"),
			minutes(false), minutes(true), format.Wrap(f.Title, 2, 2))
		if err != nil {
			return err
		}
	}
	return nil
}
