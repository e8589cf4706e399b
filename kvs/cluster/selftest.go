package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/metrics"
)

// The forms of --selftest. The quick one makes the tests that a busy machine cannot
// fail by being slow.
const (
	fullSelfTest  = "full"
	quickSelfTest = "quick"
)

func (c *Config) selfTestFlags(fs *flag.FlagSet) {
	fs.BoolFunc("selftest", "test the instrument itself on these nodes, in 5 to 6 minutes: are two runs of one configuration told apart, are faults of known size found, what do samples cost; --selftest=quick is the part that takes half a minute", func(text string) error {
		switch text {
		case "true":
			c.SelfTest = fullSelfTest
		case quickSelfTest:
			c.SelfTest = quickSelfTest
		default:
			return errors.New("want --selftest or --selftest=quick")
		}
		return nil
	})
}

// validateSelfTest checks --selftest against the other flags.
func (c Config) validateSelfTest(set map[string]bool) error {
	switch {
	case c.SelfTest == "":
	case c.Trials.many() || c.Trials.SLO != nil || c.Trials.Resume != "":
		return errors.New("--selftest: it makes its own trials, without --trials, --until, --sweep, --curve, --ab, --slo and --resume")
	case set["secs"] || set["soak"] || c.Grade != nil || len(c.ServerArgs) > 0 || len(c.ClientArgs) > 0:
		return errors.New("--selftest: it has its own arguments for servers and clients, and goes without --server-args, --client-args, --secs, --soak and --grade")
	}
	return nil
}

// selfTest is --selftest as it is carried out.
type selfTest struct {
	*Launcher
	cfg    Config
	nodes  []nodes.Node
	dir    folder
	built  string // git commit
	args   []string
	random *rand.Rand // of the order within pairs
	made   int        // trials
	remade int        // pairs of them that were made again
	checks []tested
}

// ownArgs is what a trial of the self-test has of its own.
type ownArgs struct{ server, client string } // arguments

// selfTestArgs are those of every client of the self-test. The work is small, so
// that short trials have many calls.
const selfTestArgs = "-records 20000 -warmup 0 -workers 4 -batch 64"

// selfTest carries out --selftest.
func (l *Launcher) selfTest(ctx context.Context, cfg Config, nodes []nodes.Node, args []string) error {
	seed := rand.Uint64()
	s := &selfTest{Launcher: l, cfg: cfg, nodes: nodes, args: args, random: rand.New(rand.NewPCG(seed, 0))}
	s.cfg.NoCeiling = true
	at, err := s.setup(ctx, ownArgs{})
	if err == nil {
		err = l.Programs.checkArgs(ctx, at.plan)
	}
	switch {
	case err != nil:
		return &UsageError{err}
	case cfg.DryRun:
		return at.plan.print(l.Stdout)
	case cfg.Check:
		return l.check(ctx, at)
	}
	if s.dir, err = createFolder(cfg.Out, time.Now()); err != nil {
		return &UsageError{err}
	}
	s.built = l.commit(ctx)
	fmt.Fprintf(l.Stderr, "self-test, %s; the order within pairs has seed %d\n", cfg.SelfTest, seed)
	return s.conclude(seed, s.run(ctx))
}

// run makes every test of the form that is asked for. An error is what ended it
// before its end.
func (s *selfTest) run(ctx context.Context) error {
	quick := s.cfg.SelfTest == quickSelfTest
	for _, test := range []struct {
		quick bool
		make  func(context.Context) error
	}{{true, s.pause}, {true, s.service}, {false, s.slowdown}, {false, s.samples}, {false, s.alike}} {
		if quick && !test.quick {
			continue
		}
		if err := test.make(ctx); err != nil {
			return err
		}
	}
	return nil
}

// setup is what a trial is made of.
func (s *selfTest) setup(ctx context.Context, v ownArgs) (configuration, error) {
	at := configuration{cfg: s.cfg, programs: s.Programs, commit: s.built}
	at.cfg.ServerArgs = strings.Fields(v.server)
	at.cfg.ClientArgs = strings.Fields(selfTestArgs + " " + v.client)
	var err error
	at.plan, err = makePlan(ctx, at.cfg.Spec, s.nodes)
	return at, err
}

// begin makes the folder of the next trial, and the run that it becomes.
func (s *selfTest) begin(what string) (folder, metrics.Run, error) {
	s.made++
	name := fmt.Sprintf("trial-%03d", s.made)
	fmt.Fprintf(s.Stderr, "%s, %s\n", name, what)
	dir := folder(s.dir.path(name))
	return dir, metrics.Run{ID: s.dir.id() + "/" + name, GitCommit: s.built, Command: commandLine(s.args)}, dir.clear()
}

// ended is the error of a trial without a result: the tests are of what results say.
func ended(what string, run metrics.Run, err error) error {
	if err == nil && !run.Verdict.Valid && run.Verdict != injected {
		err = &InvalidError{Verdict: run.Verdict}
	}
	if err != nil && !errors.Is(err, errInterrupted) {
		err = fmt.Errorf("%s (%s): %w", run.ID, what, err)
	}
	return err
}

// trial makes a trial.
func (s *selfTest) trial(ctx context.Context, what string, v ownArgs) (metrics.Run, error) {
	at, err := s.setup(ctx, v)
	if err != nil {
		return metrics.Run{}, err
	}
	dir, run, err := s.begin(what)
	if err != nil {
		return run, err
	}
	run, err = s.Launcher.trial(ctx, at, trialOptions{stderr: s.Stderr}, dir, run)
	return run, ended(what, run, err)
}
