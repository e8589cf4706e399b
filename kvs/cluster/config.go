package cluster

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/virtual"
	"kvlab/kvs/experiment"
	"kvlab/metrics"
	"kvlab/plots/compare"
)

// Config is a parsed command line.
type Config struct {
	nodes.Request
	plan.Spec
	Given []experiment.Setting // the programs' flags that stand among the launcher's

	Out       string // folder in which the run folder is made
	SSHConfig string // ssh -F
	DryRun    bool   // print the plan, start nothing
	Preflight bool   // check the nodes, start no run
	JSON      bool   // print the preflight as JSON
	Trials    Trials // the trials and their settings

	Grade     compare.Scale // the scale of the grade; nil for no grade
	Reap      bool          // only end the remains of earlier runs
	NoCeiling bool          // no ceiling is measured before the first trial
	SelfTest  string        // test the instrument: fullSelfTest or quickSelfTest; "" does not

	Lab metrics.Lab // the hosts to make on this machine; Hosts 0: none
}

// newFlagSet defines the launcher's flags, and those of the programs among them.
func newFlagSet(cfg *Config, text *argsText, programs plan.Flags, defaultOut string) *flag.FlagSet {
	fs := flag.NewFlagSet("run-cluster.sh", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.StringVar(&text.nodes, "nodes", "", "comma-separated `names` of nodes to reach by ssh; the first ones serve")
	fs.StringVar(&cfg.HostsFile, "hosts", "", "`file` with a node a line: name [ssh=user@host[:port]] [addr=DATA-ADDRESS]")
	fs.BoolVar(&cfg.Local, "local", false, "run every node as a process on this machine")
	fs.BoolVar(&cfg.Slurm, "slurm", false, "run on the nodes of this Slurm job, through srun; the default inside of one")
	fs.IntVar(&cfg.Lab.Hosts, "virtual", 0, "make a cluster of this `number` of hosts on this machine, each with its own network and sshd, and run on it; needs root")
	fs.Func("link-rate", "`rate` of each virtual host's link in each direction, such as 1gbit or 250mbit (default: as fast as the machine)", func(text string) (err error) {
		cfg.Lab.LinkBitsPerS, err = virtual.ParseRate(text)
		return err
	})
	fs.StringVar(&cfg.Out, "out", defaultOut, "`folder` in which the run folder is made")
	fs.StringVar(&cfg.SSHConfig, "ssh-config", "", "ssh client configuration `file` for unusual ports, keys and users (ssh -F)")
	fs.BoolVar(&cfg.DryRun, "dry-run", false, "print nodes, roles, addresses and commands; start nothing")
	fs.Func("grade", "grade the result on the scale in this `file`, such as plots/grades.txt: lines like 0.4M 80 %", func(path string) (err error) {
		cfg.Grade, err = compare.ReadScale(path)
		return err
	})
	fs.BoolVar(&cfg.Preflight, "preflight", false, "look at every node and say what stands in the way of a run; start nothing")
	fs.BoolVar(&cfg.Preflight, "check", false, "the same as --preflight")
	fs.BoolVar(&cfg.JSON, "json", false, "with --preflight: print what is found as JSON")
	cfg.Trials.flags(fs, programs)
	text.specFlags(fs, &cfg.Spec)
	cfg.lifetimeFlags(fs)
	cfg.soakFlags(fs)
	cfg.selfTestFlags(fs)
	cfg.ceilingFlags(fs)
	defineProgramFlags(fs, programs, &text.given)
	return fs
}

// Validate checks the configuration against the flags that were set. Errors
// name the flag and the right form.
func (c Config) Validate(fs *flag.FlagSet) error {
	set := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { set[f.Name] = true })
	switch {
	case set["nodes"] && set["hosts"]:
		return errors.New("--nodes and --hosts both name the nodes: give one of them")
	case c.Local && (set["nodes"] || set["hosts"] || set["ssh-config"]):
		return errors.New("--local runs everything on this machine: it goes without --nodes, --hosts and --ssh-config")
	case c.Slurm && (c.Local || set["ssh-config"]):
		return errors.New("--slurm reaches the nodes by srun: it goes without --local and --ssh-config")
	case set["nodes"] && len(c.Nodes) == 0:
		return errors.New("--nodes: needs names, as in --nodes node0,node1")
	case set["virtual"] && (c.Local || c.Slurm || set["nodes"] || set["hosts"] || set["ssh-config"]):
		return errors.New("--virtual makes its own nodes: it goes without --local, --slurm, --nodes, --hosts and --ssh-config")
	case set["link-rate"] && !set["virtual"]:
		return errors.New("--link-rate shapes the links of virtual hosts: it goes with --virtual N")
	case c.Grade != nil && len(c.Trials.Knobs) > 0:
		return errors.New("--grade judges one configuration: use it with --trials, without --sweep")
	case c.JSON && !c.Preflight:
		return errors.New("--json: it is --preflight that prints JSON: --preflight --json")
	case c.Preflight && c.DryRun:
		return errors.New("--preflight asks the nodes and --dry-run does not: give one of them")
	case c.Out == "":
		return errors.New("--out: needs the name of a folder")
	}
	if set["virtual"] {
		if err := virtual.ValidateHosts(c.Lab.Hosts); err != nil {
			return err
		}
	}
	if err := c.Trials.validate(c, set); err != nil {
		return err
	}
	if err := c.validateLifetime(set); err != nil {
		return err
	}
	if err := c.validateSoak(set); err != nil {
		return err
	}
	if err := c.validateSelfTest(set); err != nil {
		return err
	}
	if err := validateSpec(c.Spec, set); err != nil {
		return err
	}
	for i, name := range c.Nodes {
		if err := nodes.CheckName(name); err != nil {
			return fmt.Errorf("--nodes: %w", err)
		}
		for _, other := range c.Nodes[:i] {
			if name == other {
				return fmt.Errorf("--nodes: %s is listed twice", name)
			}
		}
	}
	if c.SSHConfig != "" {
		if _, err := os.Stat(c.SSHConfig); err != nil {
			return fmt.Errorf("--ssh-config: %w", err)
		}
	}
	return nil
}
