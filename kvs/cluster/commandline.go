package cluster

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"kvlab/internal/cli"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/experiment"
	"kvlab/kvs/node"
	"kvlab/kvs/target"
	"kvlab/metrics"
	"kvlab/workload/ycsb"
)

// argsText holds the words of a command line that make a plan.Spec, until all are read.
type argsText struct {
	server, client string
	words          []string             // positional
	given          []experiment.Setting // the programs' flags
	ycsb           ycsb.Properties      // -P and -p
	notes          []string             // what they became
	extras         []Kind               // whose commands an error may mean
}

// parseArgs reads a command line without its program's name. Flags, also the programs', may
// stand before, between and after the positional words.
// The usage text goes to help when it is asked for; the error is then flag.ErrHelp.
func (l *Launcher) parseArgs(args []string, help io.Writer) (Config, error) {
	cfg, extras := &Config{extras: l.Extras, Spec: plan.Spec{ContainFlag: l.Extras.Contain}}, l.Extras.Kinds
	text := argsText{extras: extras}
	fs, planners := newFlagSet(cfg, &text, l.flags, filepath.Join(l.Root, "logs"))
	words, err := asFlags(args, extras)
	if err == nil {
		words, err = pairAB(words)
	}
	if err != nil {
		return *cfg, err
	}
	if err := text.parse(fs, joinCurve(words)); errors.Is(err, flag.ErrHelp) {
		topic := ""
		for _, word := range fs.Args() {
			if word != "help" && !strings.HasPrefix(word, "-") {
				topic = word
			}
		}
		return *cfg, cmp.Or(printUsage(fs, topic, extras, help), err)
	} else if err != nil {
		return *cfg, asTyped(err, args, extras)
	}
	if err := text.apply(&cfg.Spec, l.flags); err != nil {
		return *cfg, err
	}
	cfg.notes = text.notes
	err = asTyped(cmp.Or(cfg.validate(fs), cfg.fitStages()), args, extras)
	short := cfg.Quick
	if i := slices.IndexFunc(planners, Planner.Asked); i >= 0 && err == nil {
		cfg.planner = planners[i]
		err = cfg.planner.Settle(cfg)
		short = short && !slices.Concat(extras, kinds)[i].Quick
	}
	if cfg.Grade != nil {
		cfg.ClientArgs = slices.Concat(cfg.Grade.Work.Args(), cfg.ClientArgs)
	}
	if short {
		cfg.ClientArgs = slices.Concat(quickly(cfg.ClientArgs), cfg.ClientArgs)
	}
	return *cfg, err
}

// joinCurve rewrites --curve RATES to --curve=RATES. A whole number after --curve is the
// number of servers.
func joinCurve(args []string) []string {
	i := slices.IndexFunc(args, func(word string) bool { return word == "--curve" || word == "-curve" })
	if i < 0 || i+1 == len(args) || !strings.ContainsAny(args[i+1], "%,kKmMgG") || strings.HasPrefix(args[i+1], "-") {
		return args
	}
	return slices.Concat(args[:i], []string{"--curve=" + args[i+1]}, args[i+2:])
}

// parse reads the flags and words of a command line.
func (t *argsText) parse(fs *flag.FlagSet, args []string) error {
	for _, word := range args { // a setting of a team's own program, as in --sweep
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if role, _, ok := strings.Cut(name, "."); ok && word[0] == '-' && (role == string(metrics.Server) || role == string(metrics.Client)) && fs.Lookup(name) == nil {
			fs.Var(&programFlag{metrics.Flag{Name: name}, role + "s", &t.given}, name, "")
		}
	}
	for len(args) > 0 {
		if !isText(fs, args[0], len(t.words)) {
			err := fs.Parse(args)
			if errors.Is(err, flag.ErrHelp) || fs.Arg(0) == "help" && len(t.words) == 0 { // the labs' "help"
				return flag.ErrHelp
			}
			if err != nil {
				err = cmp.Or(cli.UnknownFlag(err, fs, "--", theirs), err)
				if strings.HasPrefix(err.Error(), "flag needs an argument") { // only the last word may
					err = fmt.Errorf("%s needs a value", args[len(args)-1])
				}
				return fmt.Errorf("%w (see --help)", cli.WrongValue(err, fs))
			}
			if args = fs.Args(); len(args) == 0 {
				break
			}
		}
		t.words, args = append(t.words, args[0]), args[1:]
	}
	return nil
}

// isText reports whether a word is one of the labs' quoted argument strings,
// although it begins with a dash: `2 2 "" "-secs 5"`.
func isText(fs *flag.FlagSet, word string, seen int) bool {
	if (seen != 2 && seen != 3) || !strings.HasPrefix(word, "-") {
		return false
	}
	name, _, joined := strings.Cut(strings.TrimLeft(word, "-"), "=")
	if strings.ContainsAny(name, " \t\n") {
		return true
	}
	if strings.HasPrefix(word, "--") || name == "h" || name == "help" {
		return false
	}
	f := fs.Lookup(name)
	if f == nil {
		return true
	}
	program, ok := f.Value.(*programFlag)
	return ok && (joined || program.Bool) // whole as it stands, so it is the labs' form
}

// theirs are others' names of flags, and those of numbers of processes, which are words here.
var theirs = func() map[string]string {
	all := maps.Clone(node.Theirs)
	all["servers"] = "a word: run-cluster.sh SERVERS CLIENTS"
	all["clients"] = all["servers"] + "; connections are --workers"
	return all
}()

// wordNames are the meanings of the positional words.
var wordNames = []string{"servers", "clients", "server-args", "client-args"}

// apply adds what the words and the programs' flags say to a spec.
func (t *argsText) apply(s *plan.Spec, programs plan.Flags) error {
	texts := []*string{&t.server, &t.client}
	for i, word := range t.words {
		switch {
		case strings.HasSuffix(word, ".toml") || strings.Contains(word, "://") || slices.Contains(target.Shipped(), word):
			return fmt.Errorf("%s %q: want --target %s to measure that store; the form is [servers [clients [server-args [client-args]]]]", wordNames[min(i, 3)], cli.HidePassword(word), cli.HidePassword(word))
		case i == len(wordNames):
			return fmt.Errorf("unexpected word %q: the form is [servers [clients [server-args [client-args]]]], each args in one quoted string", word)
		case i < 2:
			if err := s.Set(wordNames[i], word, programs); err != nil {
				if i == 0 {
					err = fmt.Errorf("%w%s", err, nearestCommand(word, t.extras))
				}
				return err
			}
		case *texts[i-2] != "" && word != "":
			return fmt.Errorf("%s are given twice: as a word and as --%s", wordNames[i], wordNames[i])
		default:
			*texts[i-2] += word
		}
	}
	for i, args := range []*[]string{&s.ServerArgs, &s.ClientArgs} {
		name := wordNames[2+i]
		words, err := cli.SplitWords(*texts[i])
		if err != nil {
			return fmt.Errorf("--%s %q: %w", name, *texts[i], err)
		}
		for _, g := range t.given {
			if plan.HasFlag(words, g.Name) {
				return fmt.Errorf("--%s: --%s sets it too: give one of them", g.Name, name)
			}
		}
		if i == 1 && t.ycsb.Given() {
			became, notes, err := t.ycsb.Args(func(name string) bool {
				return name == "secs" && s.Secs > 0 || plan.HasFlag(words, name) || slices.ContainsFunc(t.given, func(s experiment.Setting) bool { return s.Name == name })
			})
			if err != nil {
				return err
			}
			t.notes = append([]string{"YCSB's properties: " + strings.Join(became, " ")}, notes...)
			words = slices.Concat(became, words) // typed ones win
		}
		*args = slices.Concat(*args, words)
	}
	for _, g := range t.given {
		if err := s.Set(g.Name, g.Value, programs); err != nil {
			return fmt.Errorf("--%s: %w", g.Name, err)
		}
	}
	return nil
}

// programFlag is a flag of the programs among the launcher's. If both programs have it, both
// get its value.
type programFlag struct {
	metrics.Flag
	of    string // the programs that have it: "servers", "clients" or "servers and clients"
	given *[]experiment.Setting
}

func (f *programFlag) String() string {
	switch f.Default {
	case "false", "0": // as package flag shows no such default
		return ""
	}
	return f.Default
}

func (f *programFlag) Set(value string) error {
	*f.given = append(*f.given, experiment.Setting{Name: f.Name, Value: value})
	return nil
}

func (f *programFlag) IsBoolFlag() bool { return f.Bool }

// defineProgramFlags adds the programs' flags to fs, except for those whose name the
// launcher has given another meaning.
func defineProgramFlags(fs *flag.FlagSet, programs plan.Flags, given *[]experiment.Setting) {
	for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
		for _, f := range programs[role] {
			known := fs.Lookup(f.Name)
			if known == nil {
				fs.Var(&programFlag{f, string(role) + "s", given}, f.Name, f.Usage)
			} else if both, ok := known.Value.(*programFlag); ok {
				both.of = "servers and clients"
			}
		}
	}
}

// commandLine returns a command line with its program's name, as records keep it.
func commandLine(args []string) []string { return append([]string{"run-cluster.sh"}, args...) }
