package cluster

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"kvlab/internal/cli"
	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
)

// applyVariant overlays the settings of a variant of an A/B comparison on a spec. text has
// launcher flags that are added to the rest of the command line, and first where the
// variant's programs come from. The variant's arguments come last, so they win. A variant
// has only flags that define what runs: all variants run on the same nodes and equally
// often.
func applyVariant(text string, s plan.Spec, programs plan.Flags) (spec plan.Spec, from metrics.Source, err error) {
	words, err := cli.SplitWords(text)
	if err != nil {
		return s, from, err
	}
	if from = metrics.SourceOf(words); from.Kind != "" {
		if words = words[1:]; from.Rev == "" {
			return s, from, fmt.Errorf("%s needs a git revision, as in %[1]sHEAD~1, or server: a checkout, as in server:../mine", from.Kind)
		}
	}
	if len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		if _, err := plan.ParseCount(words[0]); err != nil {
			return s, from, fmt.Errorf("%q is no number of servers: want %s%[1]s for a git revision, or flags", words[0], metrics.BothPrograms)
		}
	}
	var args argsText
	fs := flag.NewFlagSet("variant", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	args.specFlags(fs, &s)
	form := variantForm(fs)
	defineProgramFlags(fs, programs, &args.given)
	if own := fs.Lookup(metrics.ProgramFlag); own != nil {
		fs.Var(own.Value, "client", own.Usage) // as on a command line
	}
	if err := args.parse(fs, words); errors.Is(err, flag.ErrHelp) {
		return s, from, errors.New("--help stands alone")
	} else if err != nil {
		return s, from, fmt.Errorf("%w: %s", err, form)
	}
	return s, from, args.apply(&s, programs)
}

// variantForm says what a variant may have, the flags of fs among it.
func variantForm(fs *flag.FlagSet) string {
	form := "a variant has the number of servers and clients, commit:REV, server:REV or server:PATH, "
	fs.VisitAll(func(f *flag.Flag) { form += "--" + f.Name + ", " })
	return form + "--client or --system of a team's file, and the flags of the programs"
}

// pairAB rewrites --ab A B to --ab=A --ab=B, because a flag has one value.
func pairAB(args []string) ([]string, error) {
	i := slices.IndexFunc(args, func(word string) bool { return word == "--ab" || word == "-ab" })
	if i < 0 {
		return args, nil
	}
	if i+2 >= len(args) {
		return nil, errors.New("--ab: " + abForm)
	}
	rest, err := pairAB(args[i+3:])
	return slices.Concat(args[:i], []string{"--ab=" + args[i+1], "--ab=" + args[i+2]}, rest), err
}

const abForm = `wants two strings of arguments, as in --ab "" "--batch 1024" or --ab commit:HEAD~1 ""`
