package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"kvlab/internal/cli"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/experiment"
	"kvlab/metrics"
)

// Kind is a kind of experiment: the flag that asks for it, and what it makes. A main lists
// those of extras; kinds has the launcher's own.
type Kind struct {
	Flag  string // asks for it
	Word  string // the command that may stand for the flag, before its value; "" for none
	Value string // what follows Word, for an error
	Topic string // the topic of --help that has its flags
	Flags string // the names of all its flags, with spaces between them
	Rules []Rule // what stands beside its flags
	Quick bool   // --quick takes a form of its own, in place of the launcher's short windows
	Once  string // why --rerun does not repeat it; "" if it does

	// New defines the flags of a command line and returns the planner that they set.
	New func(fs *flag.FlagSet, cfg *Config) Planner
}

// Planner plans the experiment that a command line asks for.
type Planner interface {
	// Asked reports whether the command line asks for it. The other methods are called
	// only then.
	Asked() bool
	// Settle completes and checks the command line, once all of it is read.
	Settle(*Config) error
	// Plan completes a plan, which has the seed and the number of trials of each point; 0
	// is the kind's default. The notes say, in lines, what cannot be measured here.
	Plan(context.Context, Site, metrics.Sweep) (plan metrics.Sweep, notes string, err error)
	// Experiment returns the experiment of a plan.
	Experiment(Site, metrics.Sweep) experiment.Experiment
	// Continue returns the plan of an interrupted experiment as it goes on, or an error if
	// the plan of today is another one.
	Continue(begun, today metrics.Sweep) (metrics.Sweep, error)
}

// command is a word that a command line may begin with, before the value of a flag that it
// stands for.
type command struct{ word, flag, value string }

// commands returns the commands: those of extras, and the launcher's own.
func commands(extras []Kind) []command {
	all := []command{{"rerun", "rerun", "the folder of a run, as in rerun logs/latest"}}
	for _, kind := range extras {
		if kind.Word != "" {
			all = append(all, command{kind.Word, kind.Flag, kind.Value})
		}
	}
	return all
}

// nearestCommand asks whether a command line's first word was to be a command, if it looks
// like one.
func nearestCommand(word string, extras []Kind) string {
	words := []string{"help"}
	for _, c := range commands(extras) {
		words = append(words, c.word)
	}
	return cli.DidYouMean(word, "", words)
}

// asFlags rewrites a command line that begins with one of the commands to flags.
func asFlags(args []string, extras []Kind) ([]string, error) {
	for _, c := range commands(extras) {
		switch {
		case len(args) == 0 || args[0] != c.word:
		case len(args) == 1 || strings.HasPrefix(args[1], "-"):
			return nil, fmt.Errorf("%s: want %s", c.word, c.value)
		default:
			return append([]string{"--" + c.flag + "=" + args[1]}, args[2:]...), nil
		}
	}
	return args, nil
}

// asTyped names the command that a command line begins with, where an error names the flag
// that it stands for.
func asTyped(err error, args []string, extras []Kind) error {
	for _, c := range commands(extras) {
		if err != nil && len(args) > 0 && args[0] == c.word {
			return errors.New(strings.NewReplacer("for flag -"+c.flag, "for "+c.word, "--"+c.flag+": ", c.word+": ").Replace(err.Error()))
		}
	}
	return err
}

// kindOf returns the extra kind of experiment that a recorded command line asks for; zero if
// none.
func kindOf(args []string, extras []Kind) (kind Kind) {
	words, _ := asFlags(args, extras)
	for _, kind := range extras {
		if plan.HasFlag(words, kind.Flag) {
			return kind
		}
	}
	return kind
}
