package cluster

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/preflight"
	"kvlab/kvs/cluster/virtual"
	"kvlab/kvs/experiment"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/curve"
	"kvlab/plots/compare"
)

// Config is a parsed command line.
type Config struct {
	nodes.Request
	plan.Spec

	Out       string // folder in which the run folder is made
	Name      string // the end of the run folder's name; "" for none
	Quick     bool   // a short run, which is a class of its own
	Version   bool   // print the launcher's version, start nothing
	SSHConfig string // ssh -F
	DryRun    bool   // print the plan, start nothing
	Preflight bool   // check the nodes, start no run

	Trials Trials // the trials and their settings
	Rerun  rerun  // of another run; none if its folder is ""

	Grade     *compare.Scale       // the scale of the grade; nil for no grade
	Baseline  string               // the name or the ID of a stored result; "" for none
	FailIf    []compare.Limit      // how much worse than the baseline the result may be
	Reap      bool                 // only end the remains of earlier runs
	NoCeiling bool                 // no ceiling is measured before the first trial
	Verbose   bool                 // print every figure, not only the answer
	SelfTest  *experiment.SelfTest // test the instrument; nil does not

	// Accept returns an error if a client with these settings does not do what the command
	// line asks for; nil accepts all.
	Accept func(client metrics.Settings) error
	// After does what follows an experiment whose folder is complete; nil for nothing.
	After func(w io.Writer) error
	// Work does what the command line asks for in place of a run; nil makes a run.
	Work func(site Site, w io.Writer) error

	Lab metrics.Lab // the hosts to make on this machine; Hosts 0: none

	notes   []string                       // on the command line, for the user
	planner Planner                        // of the experiment; nil of a plain run
	extras  Extras                         // whose flags the command line may have
	view    func(metrics.Preflight) string // of what the preflight finds; nil: its own table
}

// Extras are the rows that a main gives to its launcher. Each is a flag, which a launcher
// without the row does not have.
type Extras struct {
	Kinds   []Kind
	Views   []preflight.View
	Contain *plan.ContainFlag // nil for none
}

// Trials are the flags of sweeps, comparisons and searches.
type Trials struct {
	metrics.Sweep                  // what the command line says of it; Trials and Seed are 0 if it does not
	Resume        string           // the folder of a sweep to continue
	Curve         experiment.Curve // the rates of --curve, the objective of --slo
}

// The default numbers of trials of every point.
const (
	abPairs = 10 // of each variant of --ab
	fewest  = 6  // of --until: the fewest that have a 95 % interval
	ofRates = 3  // of --curve and --slo: the peak, and each rate
)

// newFlagSet defines the launcher's flags, and those of the programs among them.
func newFlagSet(cfg *Config, text *argsText, programs plan.Flags, defaultOut string) (*flag.FlagSet, []Planner) {
	fs := flag.NewFlagSet("run-cluster.sh", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	cfg.nodeFlags(fs)
	fs.StringVar(&cfg.Out, "out", defaultOut, "`folder` in which the run folder is made")
	parsed(fs, &cfg.Name, "name", "`word` at the end of the run folder's name, which reports show", parseName)
	fs.BoolVar(&cfg.Quick, "quick", false, "a look in about ten seconds: "+strings.Join(quickArgs, " ")+" unless given, and no ceiling; the result is marked QUICK, and is never ranked against a full run's")
	fs.BoolVar(&cfg.Version, "version", false, "print the launcher's version; start nothing")
	fs.BoolVar(&cfg.DryRun, "dry-run", false, "print nodes, roles, addresses and commands; start nothing")
	parsed(fs, &cfg.Grade, "grade", "grade the result on the scale in this `file`, such as plots/grades.toml, which also sets the work", compare.ReadScale)
	fs.StringVar(&cfg.Baseline, "baseline", "", "with --fail-if: compare the result with the newest run in the folder of --out that has this `name`, given by its --name or its folder")
	fs.Func("fail-if", "exit with status 1 unless the result is shown to keep this `limit`: rate=1M, p99=5ms, failed=0.1% or cpu=2us (processor time per operation); or with --baseline, not to be worse than the baseline by a share: slower=5%, p99=10%, cpu=5%; may be given again", func(text string) error {
		limit, err := compare.ParseLimit(text)
		cfg.FailIf = append(cfg.FailIf, limit)
		return err
	})
	fs.BoolVar(&cfg.Preflight, "preflight", false, "check every node and say what prevents a run; start nothing")
	fs.BoolVar(&cfg.Preflight, "check", false, "the same as --preflight")
	for _, view := range cfg.extras.Views {
		fs.Func(view.Flag, view.Usage, func(value string) error {
			cfg.Preflight, cfg.view = true, view.Text
			return view.Check(value)
		})
	}
	fs.Bool("json", false, "print the answer as one JSON object (docs/results.md), and all else on standard error")
	fs.BoolVar(&cfg.Reap, "reap", false, "end the processes that this user's runs have left on the nodes, and any run in progress, by pid and start time; start nothing")
	parsed(fs, &cfg.Deadline, "deadline", "`time` such as 10m after which a trial has failed: every node logs its goroutines' stacks and is ended (default: the sum of its steps' limits, about 35m and the window)", atLeast(time.Millisecond))
	// A minute leaves 54 samples to judge; in less time a leak of 2 % may be noise.
	parsed(fs, &cfg.Soak, "soak", "one window of this `time`, such as 30m or 24h, at least 1m: after its first tenth no process may grow in memory, goroutines or open descriptors", atLeast(time.Minute))
	fs.BoolVar(&cfg.Verbose, "v", false, "print every figure and every trial, not only the answer; the report has them too")
	fs.BoolVar(&cfg.NoCeiling, "no-ceiling", false, "do not measure the ceiling, the rate of the same clients with a store that costs nothing; it takes some seconds before each run")
	fs.BoolFunc("selftest", "test kvlab itself on these nodes, in 5 to 6 minutes: two runs of one configuration must look alike, faults of known size must be found, and samples must cost little; --selftest=quick takes half a minute", func(text string) error {
		if text != "true" && text != "quick" {
			return errors.New("want --selftest or --selftest=quick")
		}
		cfg.SelfTest = &experiment.SelfTest{Quick: text == "quick"}
		cfg.NoCeiling = true
		return nil
	})
	cfg.Rerun.flags(fs)
	cfg.Trials.flags(fs, cfg.Spec, programs)
	var planners []Planner
	for _, kind := range slices.Concat(cfg.extras.Kinds, kinds) {
		planners = append(planners, kind.New(fs, cfg))
	}
	text.specFlags(fs, &cfg.Spec)
	defineProgramFlags(fs, programs, &text.given)
	return fs, planners
}

// nodeFlags defines the flags that name the nodes and say how to reach them.
func (c *Config) nodeFlags(fs *flag.FlagSet) {
	fs.Func("nodes", "comma-separated `names` of nodes to reach by ssh, as [user@]host[:port]; the first ones serve", func(text string) error {
		c.Nodes = nil
		for name := range strings.SplitSeq(text, ",") {
			node, err := nodes.Named(name)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(c.Nodes, func(other nodes.Node) bool { return other.Name == node.Name }) {
				return fmt.Errorf("%s is listed twice", node.Name)
			}
			c.Nodes = append(c.Nodes, node)
		}
		return nil
	})
	fs.StringVar(&c.HostsFile, "hosts", "", "`file` with one node on each line: name [ssh=user@host[:port]] [addr=DATA-ADDRESS]; or CloudLab's manifest")
	fs.BoolVar(&c.Local, "local", false, "run every node as a process on this machine")
	fs.BoolVar(&c.Slurm, "slurm", false, "run on the nodes of this Slurm job, through srun; the default inside a job")
	fs.IntVar(&c.Lab.Hosts, "virtual", 0, "make a cluster of this `number` of hosts on this machine, each with its own network and sshd, and run on it; needs root")
	parsed(fs, &c.Lab.LinkBitsPerS, "link-rate", "`rate` of each virtual host's link in each direction, such as 1gbit or 250mbit (default: as fast as the machine)", virtual.ParseRate)
	parsed(fs, &c.SSHConfig, "ssh-config", "ssh client configuration `file` for unusual ports, keys and users (ssh -F)", func(path string) (string, error) {
		_, err := os.Stat(path)
		return path, err
	})
}

func (t *Trials) flags(fs *flag.FlagSet, base plan.Spec, programs plan.Flags) {
	fs.Func("sweep", "measure each of several values of a setting, `name=v1,v2,...`: nodes (half serve, half load), servers, clients, or any flag of servers or clients; several --sweep measure every combination", func(text string) error {
		knob, err := experiment.ParseKnob(text)
		t.Knobs = append(t.Knobs, knob)
		return err
	})
	fs.BoolFunc("curve", "latency against throughput: closed loops measure the peak, then open loops offer `rates`: "+strings.Join(experiment.DefaultRates, ",")+" of the peak, or the given ones, as in --curve 100k,200k or --curve 20%,50%,80%", func(text string) (err error) {
		if t.Curve.Rates = experiment.DefaultRates; text != "true" {
			t.Curve.Rates, err = experiment.ParseRates(text)
		}
		return err
	})
	parsed(fs, &t.Curve.Objective, "slo", "find the highest rate of an open loop that keeps an `objective` such as p99=5ms, with its 95 % interval: "+strings.Join(metrics.QuantileNames[:], ", ")+" of the operations' latency from the moment when they are due", curve.ParseObjective)
	fs.Func("ab", "compare two variants, `A B`: each is a string with the arguments that only this variant has (counts, --server-args, --client-args, flags of the programs), or \"\"; a string that begins with commit:REV runs both programs of another commit, with server:REV its servers and this checkout's clients, with server:PATH the servers of another checkout, such as ../mine; the order within pairs of trials is random", func(text string) error {
		t.Knobs = []metrics.Knob{{Name: metrics.VariantKnob, Values: metrics.VariantNames}}
		t.Variants = append(t.Variants, metrics.Variant{Args: text})
		_, _, err := applyVariant(text, base, programs)
		return err
	})
	fs.BoolVar(&t.Together, "together", false, "with --ab: run both trials of a pair at the same time on the same nodes, so that both meet the same disturbances, and compare the processor time of an operation")
	parsed(fs, &t.Trials, "trials", "`number` of trials, of every point of a sweep, of each variant of --ab (default "+strconv.Itoa(abPairs)+"), of each rate of --curve (default "+strconv.Itoa(ofRates)+"), of each point of --study (default: what it says), each with fresh processes and a fresh load", plan.ParseCount)
	parsed(fs, &t.Until, "until", "add trials until the half-width of the median's 95 % interval is at most this `share` of the median, such as 2%, or there are "+strconv.Itoa(experiment.Most), parseShare)
	fs.Uint64Var(&t.Seed, "seed", 0, "`number` that decides the random order of the trials of --sweep, --curve, --ab, --study and --class (0: a random number, which is recorded); the operations have the clients' seed: --client-args \"-seed N\"")
	fs.StringVar(&t.Resume, "resume", "", "continue the interrupted sweep in this `folder`; finished trials stay")
}

// specFlags defines the flags that say what a trial's processes are, beside those of the
// programs.
func (t *argsText) specFlags(fs *flag.FlagSet, s *plan.Spec) {
	fs.StringVar(&t.server, "server-args", "", "arguments for every server, in one `string`, quoted as for a shell")
	fs.StringVar(&t.client, "client-args", "", "arguments for every client, in one `string`, quoted as for a shell")
	fs.Func("P", "take the workload from a `file` of YCSB's properties, such as workloads/workloada; flags that are typed win", t.ycsb.ReadFile)
	fs.Func("p", "a property of YCSB, `name=value`, which wins over one of -P", t.ycsb.Set)
	parsed(fs, &s.Secs, "secs", "least length of the measured window in `seconds` (default: the client's -secs)", plan.ParseCount)
	fs.BoolVar(&s.Symmetric, "symmetric", s.Symmetric, "every node serves and loads; such a run is compared only with others of its kind")
	parsed(fs, &s.ServersPerNode, "servers-per-node", "`number` of servers on each node that serves (default 1)", plan.ParseCount)
	parsed(fs, &s.ClientsPerNode, "clients-per-node", "`number` of clients on each node that loads (default 1)", plan.ParseCount)
	parsed(fs, &s.RestartAt, "restart-at", "kill the first server by SIGKILL this `time`, such as 10s, after the window's start, and start it again on its store: the result shows the time to recovery, and no acknowledged write may be lost; needs an engine on disk with --dir and --sync os or disk, --retry, and a closed loop of gets, puts and read-modify-writes; not in a Slurm job", atLeast(plan.RestartMargin))
	parsed(fs, &s.ServerCores, "server-cores", "bind each server to these processors, a `list` such as 0-3,8", parseCores)
	if s.ContainFlag != nil {
		fs.Func("contain", s.ContainFlag.Usage, s.SetContain)
	}
	parsed(fs, &s.ClientCores, "client-cores", "bind each client to these processors, a `list` such as 4-7", parseCores)
}

// parsed defines a flag whose value parse reads.
func parsed[T any](fs *flag.FlagSet, p *T, name, usage string, parse func(text string) (T, error)) {
	fs.Func(name, usage, func(text string) (err error) {
		*p, err = parse(text)
		return err
	})
}

// atLeast returns the parser of a time of at least least.
func atLeast(least time.Duration) func(text string) (time.Duration, error) {
	return func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err == nil && d < least {
			err = fmt.Errorf("want %s or more", least)
		}
		return d, err
	}
}

// parseCores checks a list of processors.
func parseCores(text string) (string, error) {
	_, err := node.ParseCores(text)
	return text, err
}

// quickArgs are the clients' arguments of --quick, before any others.
var quickArgs = []string{"-secs=5", "-warmup=1", "-records=100000"}

// quickly returns quickArgs for clients with arguments. A run that ends with its operations has
// no warm-up.
func quickly(args []string) []string {
	if plan.HasFlag(args, "ops") || plan.HasFlag(args, "replay") && !plan.HasFlag(args, "replay-loop") {
		return slices.DeleteFunc(slices.Clone(quickArgs), func(arg string) bool { return strings.HasPrefix(arg, "-warmup") })
	}
	return quickArgs
}

// runName is the form of --name. It is safe in a path, in a figure's label and in a shell.
var runName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)

// parseName checks the end of a run folder's name.
func parseName(text string) (string, error) {
	if !runName.MatchString(text) {
		return "", errors.New("want at most 40 letters, digits, dots, dashes and underscores, the first a letter or a digit")
	}
	return text, nil
}

// parseShare reads a percentage.
func parseShare(text string) (float64, error) {
	number, ok := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(share > 0 && share <= 50) {
		return 0, errors.New("want more than 0% and at most 50%, as in 2%")
	}
	return share / 100, nil
}

// isCurve reports whether the trials offer rates.
func (t Trials) isCurve() bool { return len(t.Curve.Rates) > 0 || t.Curve.Objective.Quantile != "" }
