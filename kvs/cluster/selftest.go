package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/experiment"
	"kvlab/kvs/verdict"
)

func (c *Config) selfTestFlags(fs *flag.FlagSet) {
	fs.BoolFunc("selftest", "test the instrument itself on these nodes, in 5 to 6 minutes: are two runs of one configuration told apart, are faults of known size found, what do samples cost; --selftest=quick is the part that takes half a minute", func(text string) error {
		switch text {
		case "true":
			c.SelfTest = experiment.FullSelfTest
		case experiment.QuickSelfTest:
			c.SelfTest = experiment.QuickSelfTest
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

// selfTest carries out --selftest.
func (l *Launcher) selfTest(ctx context.Context, cfg Config, found []nodes.Node, args []string) error {
	cfg.NoCeiling = true
	kind := experiment.SelfTest{
		Form: cfg.SelfTest, Command: commandLine(args), GitCommit: l.commit(ctx), Seed: rand.Uint64(), Injected: verdict.Injected,
	}
	if len(found) == 0 && cfg.ServerCores == "" && cfg.ClientCores == "" {
		kind.Cores = halves()
	}
	r := &resolver{programs: l.Programs, flags: l.flags, root: l.Root, commit: kind.GitCommit, cfg: cfg, nodes: found}
	s := &series{l: l, kind: kind, resolver: r, command: kind.Command}
	if only, err := s.prepare(ctx, cfg); only || err != nil {
		return err
	}
	var err error
	if s.dir, err = createFolder(cfg.Out, time.Now()); err != nil {
		return &UsageError{err}
	}
	fmt.Fprintf(l.Stderr, "self-test, %s; the order within pairs has seed %d\n", cfg.SelfTest, kind.Seed)
	return s.run(ctx, nil)
}

// halves are the flags that give servers and clients on this machine processors of
// their own, if there are two at least. Without them, from one moment to the next, an
// operation costs more or less as its two ends run on one processor or on two, and
// each variant of a pair has its own luck.
func halves() string {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return ""
	}
	var cores []string
	for core := range len(set) * 64 {
		if set.IsSet(core) {
			cores = append(cores, strconv.Itoa(core))
		}
	}
	half := len(cores) / 2
	if half == 0 {
		return ""
	}
	return "--server-cores " + strings.Join(cores[:half], ",") + " --client-cores " + strings.Join(cores[half:], ",")
}
