package cluster

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/virtual"
	"kvlab/metrics"
	"kvlab/plots/compare"
)

// Config is what the command line asks for.
type Config struct {
	nodes.Request
	plan.Spec

	Out       string // folder in which the run folder is made
	SSHConfig string // ssh -F
	DryRun    bool   // print the plan, start nothing
	Check     bool   // look at the nodes, start nothing
	JSON      bool   // what Check finds as JSON
	Trials    Trials // how often, and with which settings

	Grade     compare.Scale // what the result is judged on; nil for no grade
	Reap      bool          // end what earlier runs have left, and nothing else
	NoCeiling bool          // no ceiling is measured before the first trial
	SelfTest  string        // test the instrument: fullSelfTest or quickSelfTest; "" does not

	Lab metrics.Lab // the hosts to make on this machine; Hosts 0: none
}

const usageHead = `usage: run-cluster.sh [flags] [servers [clients [server-args [client-args]]]]

Starts servers and clients, loads the store, runs the workload, checks every
count and leaves everything in a new folder under logs/. Without flags the nodes
of the Slurm job or of the CloudLab experiment are used, half of them as servers;
elsewhere one server and one client run on this machine.

`

const usageTail = `
examples:
  run-cluster.sh                                  every node, half serve, half load
  run-cluster.sh --secs 5                         a quick look
  run-cluster.sh 2 2 "" "-workload YCSB-A"        2 servers, 2 clients, arguments for the clients
  run-cluster.sh --local 1 2 --client-args "-theta 0.5"
  run-cluster.sh --nodes node0,node1,node2,node3 --dry-run
  salloc -N 4 --exclusive ./run-cluster.sh        in a Slurm job: 2 servers, 2 clients
  run-cluster.sh --reap                           ends what kvlab has left on the nodes
  run-cluster.sh --symmetric --server-cores 0-3 --client-cores 4-7
  sudo run-cluster.sh --virtual 4 --link-rate 1gbit
  run-cluster.sh --hosts hosts.txt                lines: name [ssh=user@host[:port]] [addr=DATA-ADDRESS]
  run-cluster.sh --check                          is every node fit for a run? starts nothing
  run-cluster.sh --trials 6                       six trials, their median and its interval
  run-cluster.sh --trials 6 --grade plots/grades.txt
  run-cluster.sh --sweep nodes=2,4,8 --sweep batch=1024,8192 --trials 5
  run-cluster.sh --curve --client-args "-batch auto"
  run-cluster.sh --ab "" '--client-args "-batch 1024"' --trials 6
  run-cluster.sh --ab commit:HEAD~1 "" --server-args "-engine slab"
  run-cluster.sh --soak 30m                       half an hour in which no process may grow
  run-cluster.sh --selftest                       is the instrument right on these nodes?
  run-cluster.sh --slo p99=5ms --client-args "-batch auto"

exit status: 0 verdict VALID, 1 verdict INVALID or failure, 2 bad usage, 130 interrupted
`

// argsText holds the unsplit texts until all words are seen.
type argsText struct {
	server, client, nodes string
	words                 []string // positional
}

// ParseArgs reads a command line without its program's name. Flags may stand
// before, between and after the positional words. The usage text goes to help
// when it is asked for; the error is then flag.ErrHelp.
func ParseArgs(args []string, defaultOut string, help io.Writer) (Config, error) {
	cfg, _, err := parseWords(args, defaultOut, help)
	return cfg, err
}

// parseWords is ParseArgs that returns the flags too, which know what was set.
func parseWords(args []string, defaultOut string, help io.Writer) (Config, *flag.FlagSet, error) {
	var cfg Config
	var text argsText
	fs := newFlagSet(&cfg, &text, defaultOut)
	args, err := pairAB(fs, args)
	if err != nil {
		return cfg, fs, err
	}
	for len(args) > 0 {
		if isText(fs, args[0], len(text.words)) {
			text.words, args = append(text.words, args[0]), args[1:]
			continue
		}
		if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) || isHelp(fs.Arg(0), text.words) {
			printUsage(fs, help)
			return cfg, fs, flag.ErrHelp
		} else if err != nil {
			return cfg, fs, fmt.Errorf("%w (see --help)", err)
		}
		if args = fs.Args(); len(args) > 0 {
			text.words, args = append(text.words, args[0]), args[1:]
		}
	}
	if err := text.apply(&cfg); err != nil {
		return cfg, fs, err
	}
	return cfg, fs, cfg.Validate(fs)
}

func newFlagSet(cfg *Config, text *argsText, defaultOut string) *flag.FlagSet {
	fs := flag.NewFlagSet("run-cluster.sh", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.StringVar(&text.server, "server-args", "", "arguments for every server, in one `string`, quoted as for a shell")
	fs.StringVar(&text.client, "client-args", "", "arguments for every client, in one `string`, quoted as for a shell")
	fs.StringVar(&text.nodes, "nodes", "", "comma-separated `names` of nodes to reach by ssh; the first ones serve")
	fs.StringVar(&cfg.HostsFile, "hosts", "", "`file` with a node a line: name [ssh=user@host[:port]] [addr=DATA-ADDRESS]")
	fs.BoolVar(&cfg.Local, "local", false, "run every node as a process on this machine")
	fs.BoolVar(&cfg.Slurm, "slurm", false, "run on the nodes of this Slurm job, through srun; the default inside of one")
	fs.IntVar(&cfg.Lab.Hosts, "virtual", 0, "make a cluster of this `number` of hosts on this machine, each with its own network and sshd, and run on it; needs root")
	fs.Func("link-rate", "`rate` of each virtual host's link in each direction, such as 1gbit or 250mbit (default: as fast as the machine)", func(text string) (err error) {
		cfg.Lab.LinkBitsPerS, err = virtual.ParseRate(text)
		return err
	})
	fs.IntVar(&cfg.Secs, "secs", 0, "length of the measured window in `seconds` (default: the client's -secs)")
	fs.StringVar(&cfg.Out, "out", defaultOut, "`folder` in which the run folder is made")
	fs.StringVar(&cfg.SSHConfig, "ssh-config", "", "ssh client configuration `file` for unusual ports, keys and users (ssh -F)")
	fs.BoolVar(&cfg.DryRun, "dry-run", false, "print nodes, roles, addresses and commands; start nothing")
	fs.Func("grade", "grade the result on the scale in this `file`, such as plots/grades.txt: lines like 0.4M 80 %", func(path string) (err error) {
		cfg.Grade, err = compare.ReadScale(path)
		return err
	})
	fs.BoolVar(&cfg.Check, "check", false, "look at every node and say what stands in the way of a run; start nothing")
	fs.BoolVar(&cfg.JSON, "json", false, "with --check: print what is found as JSON")
	cfg.Trials.flags(fs)
	cfg.topologyFlags(fs)
	cfg.encryptionFlags(fs)
	cfg.lifetimeFlags(fs)
	cfg.soakFlags(fs)
	cfg.selfTestFlags(fs)
	cfg.ceilingFlags(fs)
	return fs
}

// isText reports whether a word is one of the labs' quoted argument strings,
// although it begins with a dash: `2 2 "" "-secs 5"`.
func isText(fs *flag.FlagSet, word string, seen int) bool {
	if (seen != 2 && seen != 3) || !strings.HasPrefix(word, "-") {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	if strings.ContainsAny(name, " \t\n") {
		return true
	}
	return !strings.HasPrefix(word, "--") && name != "h" && name != "help" && fs.Lookup(name) == nil
}

// isHelp reports whether the first positional word is the labs' "help".
func isHelp(word string, seen []string) bool { return word == "help" && len(seen) == 0 }

func printUsage(fs *flag.FlagSet, w io.Writer) {
	fmt.Fprint(w, usageHead)
	fs.SetOutput(w)
	fs.PrintDefaults()
	fmt.Fprint(w, usageTail)
}

// apply turns the texts into cfg's fields.
func (t argsText) apply(cfg *Config) error {
	for i, word := range t.words {
		var err error
		switch i {
		case 0:
			cfg.Servers, err = plan.ParseCount("servers", word)
		case 1:
			cfg.Clients, err = plan.ParseCount("clients", word)
		case 2:
			err = setOnce(&t.server, word, "server-args")
		case 3:
			err = setOnce(&t.client, word, "client-args")
		default:
			err = fmt.Errorf("unexpected word %q: the form is [servers [clients [server-args [client-args]]]], each args in one quoted string", word)
		}
		if err != nil {
			return err
		}
	}
	var err error
	if cfg.ServerArgs, err = splitWords(t.server); err != nil {
		return fmt.Errorf("--server-args %q: %w", t.server, err)
	}
	if cfg.ClientArgs, err = splitWords(t.client); err != nil {
		return fmt.Errorf("--client-args %q: %w", t.client, err)
	}
	if t.nodes != "" {
		cfg.Nodes = strings.Split(t.nodes, ",")
	}
	return nil
}

func setOnce(text *string, word, name string) error {
	if *text != "" && word != "" {
		return fmt.Errorf("%s are given twice: as a word and as --%s", name, name)
	}
	*text += word
	return nil
}

// Validate checks the configuration against the flags that were set. Errors
// name the flag and the right form.
func (c Config) Validate(fs *flag.FlagSet) error {
	set := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { set[f.Name] = true })
	switch {
	case set["secs"] && c.Secs <= 0:
		return fmt.Errorf("--secs %d: must be a positive number of seconds", c.Secs)
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
	case c.JSON && !c.Check:
		return errors.New("--json: it is --check that prints JSON: --check --json")
	case c.Check && c.DryRun:
		return errors.New("--check asks the nodes and --dry-run does not: give one of them")
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
	if err := c.validateTopology(set); err != nil {
		return err
	}
	for i, name := range c.Nodes {
		if err := nodes.CheckName(name); err != nil {
			return fmt.Errorf("--nodes: %w", err)
		}
		for _, other := range c.Nodes[:i] {
			if name == other {
				return fmt.Errorf("--nodes: %s stands there twice", name)
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
