// Package cluster runs one benchmark on many machines: it finds the nodes,
// gives them their roles, starts a program on each, leads them through the run,
// and says what the result is worth.
//
// A run goes through the package in six steps:
//
//  1. ParseArgs turns the command line into a Config.
//  2. The nodes come from the command line, from the testbed, or are this
//     machine; makePlan gives each a Place.
//  3. A backend (local, remote) puts the programs where they run and starts them.
//  4. The conductor leads the members through the protocol of package node,
//     and writes down what they report as it arrives.
//  5. Package verdict turns the members' summaries into a metrics.Run with a verdict.
//  6. The run folder gets run.json, summary.txt, latency.hlog and the pictures.
//
// Whatever goes wrong on the way, no process is left behind and the folder
// keeps what was reported until then.
package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/preflight"
	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/cluster/virtual"
	"kvlab/kvs/experiment"
	"kvlab/kvs/verdict"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots"
)

// Launcher carries out runs. Its fields are fixed before Run is called.
type Launcher struct {
	Programs plan.Programs   // of this checkout
	Root     string          // the checkout: its logs folder is the default of --out
	SSH      string          // the ssh program, a path or a name on PATH
	Testbed  nodes.Testbed   // the experiment that this machine is part of
	Slurm    nodes.Slurm     // the Slurm job that the launcher is part of
	Stdout   io.Writer       // results
	Stderr   io.Writer       // progress and explanations
	Force    <-chan struct{} // closed: kill the nodes instead of waiting for them to leave; may be nil

	flags    plan.Flags // of Programs, since Run began
	limits   limits
	ceilings ceilings // that Run has measured so far
	draw     drawer
}

// New returns a Launcher for a checkout at root whose programs were built into
// its bin folder.
func New(root string, stdout, stderr io.Writer) *Launcher {
	return &Launcher{
		Programs: plan.Programs{
			metrics.Server: filepath.Join(root, "bin", plan.Program(metrics.Server)),
			metrics.Client: filepath.Join(root, "bin", plan.Program(metrics.Client)),
		},
		Root:     root,
		Testbed:  nodes.Testbed{Tmcc: "/usr/local/etc/emulab/tmcc", GeniGet: "geni-get"},
		SSH:      "ssh",
		Slurm:    nodes.ThisSlurm(),
		Stdout:   stdout,
		Stderr:   stderr,
		limits:   defaultLimits(),
		ceilings: make(ceilings),
		draw:     plots.Draw,
	}
}

// Run carries out what a command line, without the program's name, asks for.
// It prints results on Stdout, the verdict last. When ctx ends, so does the
// run, and no process is left. ExitStatus gives the meaning of the error.
func (l *Launcher) Run(ctx context.Context, args []string) error {
	var err error
	if l.flags, err = l.Programs.Flags(ctx); err != nil {
		return err
	}
	cfg, err := ParseArgs(args, filepath.Join(l.Root, "logs"), l.flags, l.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return &UsageError{err}
	}
	if cfg.Reap {
		return l.reap(ctx, cfg)
	}
	given := args
	if cfg.Trials.Resume != "" {
		if cfg, args, err = recorded(cfg, args, filepath.Join(l.Root, "logs"), l.flags); err != nil {
			return &UsageError{err}
		}
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
	if err != nil {
		return &UsageError{err}
	}
	if cfg.isSeries() {
		r := &resolver{programs: l.Programs, root: l.Root, commit: l.commit(ctx), cfg: cfg, nodes: nodes, flags: l.flags}
		s := &series{resolver: r, stdout: l.Stdout, stderr: l.Stderr, check: l.check, trial: l.trial, draw: l.draw}
		return s.run(ctx, args)
	}
	plan, err := plan.Make(ctx, cfg.Spec, nodes)
	if err != nil {
		return &UsageError{err}
	}
	if cfg.DryRun {
		if err := l.Programs.Check(ctx, plan); err != nil {
			return &UsageError{err}
		}
		return plan.Print(l.Stdout)
	}
	if cfg.Preflight {
		return l.check(ctx, configuration{cfg: cfg, plan: plan, programs: l.Programs})
	}
	dir, err := createFolder(cfg.Out, time.Now())
	if err != nil {
		return &UsageError{err}
	}
	at := configuration{cfg, plan, l.Programs, l.commit(ctx)}
	run, err := l.trial(ctx, at, trialOptions{stderr: l.Stderr}, dir, metrics.Run{
		ID: dir.id(), GitCommit: at.commit, Command: commandLine(args),
	})
	if err == nil {
		picture(l.draw, dir, l.Stderr)
	}
	return conclude(l.Stdout, cfg.Grade, dir, run, err)
}

// drawer makes a folder's figures and report.
type drawer func(dir string) (files []string, err error)

// picture draws a folder. A failure is only reported: the measurement stands without
// figures.
func picture(draw drawer, dir folder, stderr io.Writer) {
	if _, err := draw(string(dir)); err != nil {
		fmt.Fprintf(stderr, "no pictures: %v\n", err)
	}
}

// commandLine is a command line with its program's name, as records keep it.
func commandLine(args []string) []string { return append([]string{"run-cluster.sh"}, args...) }

// nodes finds the nodes; none means processes on this machine.
func (l *Launcher) nodes(ctx context.Context, cfg Config) ([]nodes.Node, error) {
	job := l.Slurm
	if cfg.Lab.Hosts > 0 {
		if cfg.DryRun { // there is no lab that could be asked
			return nodes.ParseHostnames([]byte(virtual.Hostnames(cfg.Lab.Hosts)))
		}
		job = nodes.Slurm{}
	}
	return nodes.Find(ctx, cfg.Request, l.Testbed, job)
}

// configuration is what a trial runs.
type configuration struct {
	cfg      Config
	plan     plan.Plan
	programs plan.Programs
	commit   string // of the programs
}

// trialOptions is what one trial has beside its configuration.
type trialOptions struct {
	stderr  io.Writer // progress and explanations
	barrier *barrier  // with the other trial of a pair; nil for none
}

// trial carries a plan out once, with fresh processes and a fresh load, and
// leaves the run's files in dir, whatever happens. run comes with what names it;
// trial fills in the rest, the verdict included. The error is what ended the
// trial early, and has been explained on Stderr: a fault, or errInterrupted.
func (l *Launcher) trial(ctx context.Context, at configuration, own trialOptions, dir folder, run metrics.Run) (metrics.Run, error) {
	run.Started = time.Now()
	run.Lab = at.cfg.lab()
	c, err := l.conduct(ctx, at, own, dir)
	run.Ended = run.Started.Add(time.Since(run.Started)) // also when the wall clock was set
	c.fill(&run)
	if run.Verdict = verdict.Judge(&run); run.Verdict.Valid && c.ceiling != nil {
		run.Ceiling = c.ceiling.Over(run.OpsPerS)
	}
	if err != nil {
		run.Verdict = verdictOf(err)
		c.explain(own.stderr, err)
	}
	run.Latency = c.quantiles(run)
	if run.Verdict.Valid || run.Verdict == verdict.Ceiling {
		run.Bottleneck = verdict.FindBottleneck(run)
	}
	written := errors.Join(dir.writeRun(run), dir.write("summary.txt", []byte(experiment.Benchmark(run))), c.saveViolations(dir))
	if err == nil && written != nil {
		run.Verdict, err = verdictOf(written), written
		c.explain(own.stderr, err)
	}
	return run, err
}

// conduct prepares the nodes and leads them through the run.
func (l *Launcher) conduct(ctx context.Context, at configuration, own trialOptions, dir folder) (*conductor, error) {
	defer own.barrier.drop()
	nodes, err := l.runner(at.cfg, at.programs)
	c := newConductor(at.plan, nodes, l.limits, newToken(), l.Force, newDisplay(own.stderr))
	if err != nil {
		return c, err
	}
	c.soak, c.barrier = at.cfg.Soak, own.barrier
	limited, cancel := c.withDeadline(ctx, at.cfg.Deadline)
	defer cancel()
	target := l.target(at, nodes)
	found, err := preflight.Run(limited, target)
	if limited.Err() != nil {
		err = c.cut(limited, nil, started)
	}
	if len(found.Machines) > 0 {
		c.preflight = &found
		preflight.Report(own.stderr, found)
	}
	if err == nil && own.barrier.wait(limited) != nil {
		err = c.cut(limited, nil, started)
	}
	if err == nil {
		if c.ceiling, err = l.ceilings.measure(limited, at, own, c, dir); err != nil {
			err = c.cut(limited, nil, started)
		}
	}
	if err == nil {
		err = c.run(limited, dir)
	}
	if err == nil {
		preflight.ClocksAfter(ctx, target, &found)
		c.checkTogether(ctx)
	}
	return c, explain(ctx, at.plan.Source(), err)
}

// runner runs a configuration's programs on its nodes.
func (l *Launcher) runner(cfg Config, programs plan.Programs) (*remote.Runner, error) {
	return remote.New(remote.Programs{SSH: l.SSH, SSHConfig: cfg.SSHConfig, Srun: l.Slurm.Srun}, programs)
}

// newToken is a run's secret of 128 bits.
func newToken() string {
	token := make([]byte, 16)
	rand.Read(token) // never fails
	return hex.EncodeToString(token)
}

// verdictOf is the verdict on a run that err has ended.
func verdictOf(err error) metrics.Verdict {
	if errors.Is(err, plan.ErrInterrupted) {
		return metrics.Verdict{Reason: plan.ErrInterrupted.Error()}
	}
	var f *plan.Fault
	if errors.As(err, &f) {
		return metrics.Verdict{Reason: f.Reason, Node: f.Node}
	}
	return metrics.Verdict{Reason: format.OneLine(err.Error())}
}

// fill puts into run what the members have reported.
func (c *conductor) fill(run *metrics.Run) {
	run.Symmetric = c.plan.Symmetric
	run.Preflight = c.preflight
	for _, place := range c.plan.Places {
		node := metrics.RunNode{Name: place.Name, Role: place.Role, Machine: place.Node.Name, Address: cmp.Or(place.Listen, place.Data)}
		run.Nodes = append(run.Nodes, node)
	}
	for i, m := range c.members {
		run.Nodes[i].Address = cmp.Or(m.address, run.Nodes[i].Address)
		run.Nodes[i].Config = m.config
		run.Nodes[i].Summary = m.summary
		if c.soak > 0 {
			run.Nodes[i].Soak = new(m.held.Soak())
		}
		if m.Role == metrics.Server && len(m.rates) > 0 {
			rate := stats.Median(m.rates)
			run.Nodes[i].MedianOpsPerS = &rate
		}
	}
	run.WarmUp = c.warmUp
	run.Check = c.together
	for _, m := range c.of(metrics.Client) {
		if m.config == nil {
			continue
		}
		run.Seed = m.settings().Seed
		run.Workload = make(map[string]string)
		for _, flag := range m.config.FlagsOf(metrics.WorkFlag, metrics.ShapeFlag) {
			run.Workload[flag] = m.config.Flags[flag]
		}
		return
	}
}

// commit is the checkout's git commit, with a mark when files differ from it;
// "" where git or the repository is missing.
func (l *Launcher) commit(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	head, err := exec.CommandContext(ctx, "git", "-C", l.Root, "rev-parse", "HEAD").Output()
	if err != nil {
		return ""
	}
	changed, err := exec.CommandContext(ctx, "git", "-C", l.Root, "status", "--porcelain").Output()
	if err != nil || len(changed) > 0 {
		return strings.TrimSpace(string(head)) + "-dirty"
	}
	return strings.TrimSpace(string(head))
}
