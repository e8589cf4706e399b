// Package cluster runs one benchmark on many machines: it finds the nodes, assigns
// their roles, starts a program on each, controls the run, and judges the result.
//
// A run has six steps:
//
//  1. Launcher.parseArgs turns the command line into a Config.
//  2. Package nodes finds the machines, and package plan assigns places to them.
//  3. Package remote copies the programs, and package preflight checks every machine.
//  4. Package trial runs the processes through the protocol of package node, and
//     writes their reports as they arrive.
//  5. Package verdict decides whether the result is valid.
//  6. The run folder gets run.json, summary.txt, latency.hlog and the figures.
//
// After any failure, no process is left behind, and the folder keeps the reports
// received so far.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"

	"kvlab/internal/cli"
	"kvlab/internal/namespace"
	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/trial"
	"kvlab/kvs/cluster/virtual"
	"kvlab/metrics/build"
	"kvlab/plots"
	"kvlab/plots/compare"
	"kvlab/plots/report"
)

// Launcher executes runs. Its fields are set before Run is called.
type Launcher struct {
	Programs plan.Programs                                // of this checkout
	Bin      string                                       // the folder of the launcher's own program
	Root     string                                       // the checkout: its logs folder is the default of --out
	SSH      string                                       // the ssh program, a path or a name on PATH
	Testbed  nodes.Testbed                                // the experiment that this machine is part of
	Slurm    nodes.Slurm                                  // the Slurm job that the launcher is part of
	Stdout   io.Writer                                    // results
	Stderr   io.Writer                                    // progress and explanations
	Extras   Extras                                       // further flags
	Draw     func(dir string) (files []string, err error) // writes the figures and pages of a run folder
	List     func(dir string) error                       // renews the page of all run folders in dir; nil for none
	Force    <-chan struct{}                              // closed: kill the nodes instead of waiting for their exit; may be nil

	flags     plan.Flags        // of Programs, since Run began
	passwords map[string]string // that the command line has, by their marks; since Run began
	timeouts  trial.Timeouts
	ceilings  ceilings          // that Run has measured so far
	baseline  *compare.Baseline // nil for none
	walls     sync.Map          // of --contain that Run has found so far: []metrics.Wall by limits and node
	progress  *progress

	document *report.Document // that --json prints to out, in place of Stdout; nil without
	out      io.Writer        // Stdout, as it was given
}

// New returns a Launcher for a checkout at root whose programs were built into bin.
func New(root, bin string, stdout, stderr io.Writer) *Launcher {
	return &Launcher{
		Programs: plan.ProgramsIn(bin),
		Bin:      bin,
		Root:     root,
		Testbed:  nodes.Testbed{Tmcc: "/usr/local/etc/emulab/tmcc", GeniGet: "geni-get"},
		SSH:      "ssh",
		Slurm:    nodes.ThisSlurm(),
		Stdout:   stdout,
		Stderr:   stderr,
		timeouts: trial.DefaultTimeouts(),
		ceilings: make(ceilings),
		Draw:     plots.Pages(nil).Draw,
	}
}

// Run executes a command line, given without the program's name. It prints results on
// Stdout, the verdict last, and errors on Stderr. When ctx ends, the run ends and leaves
// no process. ExitStatus interprets the error. With --json, Stdout gets a report.Document
// alone, and Stderr all else.
func (l *Launcher) Run(ctx context.Context, args []string) error {
	l.progress = newProgress(l.Stderr)
	if l.out = l.Stdout; report.AsksJSON(args) {
		l.Stdout, l.document = l.Stderr, new(report.Document)
	}
	args, l.passwords = cli.HidePasswords(args)
	l.takePasswords()
	err := l.run(ctx, args)
	if exit := (*exitError)(nil); err != nil && !(errors.As(err, &exit) && exit.shown) {
		fmt.Fprintf(l.Stderr, "run-cluster.sh: %v\n", err)
	}
	return cmp.Or(err, l.document.Write(l.out, err, ExitStatus(err)))
}

func (l *Launcher) run(ctx context.Context, args []string) (err error) {
	cfg, err := l.parse(ctx, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case cfg.Version:
		_, err := fmt.Fprintln(l.Stdout, build.Line("kvscluster"))
		return err
	case cfg.Reap:
		return l.reap(ctx, cfg)
	case cfg.Work != nil:
		return cfg.Work(Site{&series{resolver: &resolver{launcher: l, cfg: cfg}}}, l.Stdout)
	}
	for _, note := range cfg.notes {
		fmt.Fprintln(l.progress, note)
	}
	given := args
	if cfg, args, err = l.earlier(cfg, args); err != nil {
		return usage(err)
	}
	if l.baseline, err = findBaseline(cfg); err != nil {
		return usage(err)
	}
	if cfg.Lab.Hosts > 0 && !cfg.DryRun {
		if !virtual.Inside() {
			return l.enterLab(ctx, cfg, given)
		}
		if err := l.startLab(ctx, &cfg); err != nil {
			return err
		}
	}
	nodes, err := l.nodes(ctx, cfg)
	switch {
	case ctx.Err() != nil:
		return plan.ErrInterrupted
	case err != nil:
		return usage(err)
	case len(nodes) == 0 && l.containing(cfg) && !virtual.InLoopback() && !cfg.DryRun && !cfg.Preflight:
		if err := l.enterLoopback(ctx, given); !namespace.Refused(err) {
			return err
		}
		// The wall of the network does not hold then, as the result says.
	}
	r := newResolver(ctx, l, cfg, nodes)
	defer func() { err = cmp.Or(err, r.builds.Remove()) }()
	if cfg.planner != nil {
		return (&series{resolver: r}).run(ctx, args)
	}
	return l.single(ctx, args, r)
}

// parse reads a command line, with the flags of the programs. Help needs none of those.
func (l *Launcher) parse(ctx context.Context, args []string) (cfg Config, err error) {
	var unknown error
	l.flags, unknown = l.Programs.Flags(ctx)
	if ctx.Err() != nil {
		return cfg, plan.ErrInterrupted
	}
	cfg, err = l.parseArgs(args, l.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp), err == nil && cfg.Version:
		return cfg, err
	case unknown != nil:
		return cfg, unknown
	case err != nil:
		return cfg, usage(err)
	}
	return cfg, nil
}
