package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/sweep"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots"
)

// campaign is a sweep as it is carried out: its plan, and what each of its
// points means on the nodes there are.
type campaign struct {
	*Launcher
	plan   metrics.Sweep
	scale  plots.Scale              // for the grade; nil for none
	points map[string]configuration // by their names
	dir    folder
	begun  time.Time // this launcher's part of it
	made   int       // trials in it
	builds builds    // of the sides of --ab
}

// sweep carries out a run of several trials, or what is left of one. args are
// the words that began it.
func (l *Launcher) sweep(ctx context.Context, cfg Config, nodes []nodes.Node, args []string) (err error) {
	c := &campaign{Launcher: l, plan: planSweep(cfg.Trials, args), scale: cfg.Grade}
	c.plan.GitCommit, c.plan.Lab = l.commit(ctx), cfg.lab()
	defer func() { err = cmp.Or(err, c.builds.remove()) }()
	if err := c.setUp(ctx, cfg, nodes); err != nil {
		return &UsageError{err}
	}
	if cfg.DryRun {
		return c.print(l.Stdout)
	}
	if cfg.Check {
		return l.check(ctx, c.largest())
	}
	if c.plan.Programs, err = l.Programs.Sums(); err != nil {
		return err
	}
	done, lock, err := c.open(cfg)
	if err != nil {
		return err
	}
	defer lock.Close()
	c.begun = time.Now()
	done, err = sweep.Runner{Plan: c.plan, Trials: c.trials, Keep: c.keep}.Run(ctx, done)
	return c.conclude(done, err)
}

// planSweep is the plan that a command line asks for.
func planSweep(t Trials, args []string) metrics.Sweep {
	plan := metrics.Sweep{
		Started: time.Now(), Command: commandLine(args),
		Seed: t.Seed, Knobs: t.knobs(), Trials: t.perPoint(), Until: t.Until, Together: t.Together,
	}
	for plan.Seed == 0 {
		plan.Seed = uint64(rand.Uint32()) // short enough to be typed
	}
	plan.Order = sweep.Order(plan.Knobs, plan.Trials, plan.Seed)
	return plan
}

// setUp finds out what each point means, and that it can be: enough nodes, and
// arguments that the programs take.
func (c *campaign) setUp(ctx context.Context, cfg Config, nodes []nodes.Node) error {
	c.points = make(map[string]configuration)
	if len(cfg.Trials.AB) > 0 {
		return c.sides(ctx, cfg, nodes)
	}
	flags, err := c.Programs.nodeFlags(ctx)
	if err != nil {
		return err
	}
	for _, point := range metrics.Points(c.plan.Knobs) {
		at := cfg
		at.Spec, err = cfg.at(c.plan.Knobs, point, flags)
		if err != nil {
			return err
		}
		name := metrics.PointName(c.plan.Knobs, point)
		plan, err := makePlan(ctx, at.Spec, nodes)
		if err == nil {
			err = c.Programs.checkArgs(ctx, plan)
		}
		switch {
		case ctx.Err() != nil:
			return errInterrupted
		case err != nil && name != "":
			return fmt.Errorf("--sweep, at %s: %w", name, err)
		case err != nil:
			return err
		}
		c.points[name] = configuration{at, plan, c.Programs, c.plan.GitCommit}
	}
	return nil
}

// largest is the configuration of the point with the most places.
func (c *campaign) largest() configuration {
	var largest configuration
	for _, point := range c.points {
		if len(point.plan.Places) > len(largest.plan.Places) {
			largest = point
		}
	}
	return largest
}

// open makes the sweep's folder and writes the plan, or finds what is done of
// the plan that stands in it. The folder stays the launcher's own until lock is
// closed.
func (c *campaign) open(cfg Config) (done []metrics.Trial, lock *os.File, err error) {
	if cfg.Trials.Resume != "" {
		return c.reopen(folder(cfg.Trials.Resume))
	}
	if c.dir, err = createFolder(cfg.Out, c.plan.Started); err != nil {
		return nil, nil, &UsageError{err}
	}
	c.plan.ID = c.dir.id()
	if err := c.dir.writeJSON(metrics.SweepFile, c.plan); err != nil {
		return nil, nil, err
	}
	lock, err = c.dir.lock()
	return nil, lock, err
}

// trials makes a trial of the plan, or the two of a pair at the same time.
func (c *campaign) trials(ctx context.Context, planned []metrics.Planned, left int) (made []metrics.Trial, err error) {
	var trials []pairedTrial
	for _, p := range planned {
		t := pairedTrial{at: c.points[metrics.PointName(c.plan.Knobs, p.Point)]}
		if len(c.plan.Sides) > 0 {
			t.variant = p.Point[0]
		}
		if t.dir, t.run, err = c.begin(p, t.at, planned[0].Number+left-1, left); err != nil {
			return nil, err
		}
		trials = append(trials, t)
	}
	runs, errs := c.runGroup(ctx, trials)
	for _, err := range errs {
		if errors.Is(err, errInterrupted) {
			return nil, err
		}
	}
	for i, p := range planned {
		made = append(made, c.end(p, planned[0].Number+left-1, runs[i]))
	}
	return made, nil
}

// trialFolder is the name of a trial's folder.
func trialFolder(p metrics.Planned) string { return fmt.Sprintf("trial-%03d", p.Number) }

// begin makes a trial's folder and says which it is, of so many, of which some are
// left.
func (c *campaign) begin(p metrics.Planned, at configuration, of, left int) (folder, metrics.Run, error) {
	name := trialFolder(p)
	dir := folder(c.dir.path(name))
	if err := dir.clear(); err != nil {
		return dir, metrics.Run{}, err
	}
	label := fmt.Sprintf("trial %d/%d", p.Number, of)
	fmt.Fprintln(c.Stderr, strings.Join(nonEmpty(label, metrics.PointName(c.plan.Knobs, p.Point), c.timeLeft(left)), ", "))
	return dir, metrics.Run{ID: c.plan.ID + "/" + name, GitCommit: at.commit, Command: c.plan.Command}, nil
}

// end says what a trial came to.
func (c *campaign) end(p metrics.Planned, of int, run metrics.Run) metrics.Trial {
	c.made++
	trial := metrics.TrialOf(p, trialFolder(p), run)
	label, rate := fmt.Sprintf("trial %d/%d", p.Number, of), fmt.Sprintf("%.0f op/s", trial.OpsPerS)
	words := nonEmpty(label, metrics.PointName(c.plan.Knobs, p.Point), rate, trial.Verdict.String())
	fmt.Fprintln(c.Stdout, strings.Join(append(words, trial.Stamps()...), "  "))
	return trial
}

// nonEmpty returns the words that say something.
func nonEmpty(words ...string) []string {
	var some []string
	for _, word := range words {
		if word != "" {
			some = append(some, word)
		}
	}
	return some
}

// timeLeft says how long so many trials may take, by those made so far; ""
// before the first.
func (c *campaign) timeLeft(trials int) string {
	if c.made == 0 {
		return ""
	}
	left := time.Since(c.begun) / time.Duration(c.made) * time.Duration(trials)
	switch {
	case left < 100*time.Second:
		return fmt.Sprintf("about %.0f s left", left.Seconds())
	case left < 100*time.Minute:
		return fmt.Sprintf("about %.0f min left", left.Minutes())
	}
	return fmt.Sprintf("about %.1f h left", left.Hours())
}

// keep writes trials.json and trials.csv.
func (c *campaign) keep(trials []metrics.Trial) error {
	var table strings.Builder
	if err := sweep.WriteTable(&table, c.plan.Knobs, trials); err != nil {
		return err
	}
	return errors.Join(c.dir.writeJSON(metrics.TrialsFile, trials), c.dir.write("trials.csv", []byte(table.String())))
}

// print writes, for --dry-run, the order of the trials and each point's plan.
func (c *campaign) print(w io.Writer) error {
	when := ""
	if c.plan.Together {
		when = ", those of a pair at the same time"
	}
	fmt.Fprintf(w, "%s of each of %s, %d in all%s, ordered by --seed %d\n",
		format.Plural(c.plan.Trials, "trial"), format.Plural(len(c.points), "point"), len(c.plan.Order), when, c.plan.Seed)
	for _, planned := range c.plan.Order {
		fmt.Fprintln(w, strings.Join(nonEmpty(fmt.Sprintf("trial %d", planned.Number), metrics.PointName(c.plan.Knobs, planned.Point)), "  "))
	}
	for _, point := range metrics.Points(c.plan.Knobs) {
		name := metrics.PointName(c.plan.Knobs, point)
		fmt.Fprintf(w, "\n== %s\n", cmp.Or(name, "every trial"))
		if err := c.points[name].plan.print(w); err != nil {
			return err
		}
	}
	return nil
}
