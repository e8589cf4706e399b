package cluster

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/remote"
)

// applyVariant overlays the settings of a variant of an A/B comparison on a spec. text has
// launcher flags that are added to the rest of the command line, and first the git revision
// of the variant's programs, "" for this checkout's. The variant's arguments come last, so
// they win. A variant has only flags that define what runs: all variants run on the same
// nodes and equally often.
func applyVariant(text string, s plan.Spec, programs plan.Flags) (spec plan.Spec, rev string, err error) {
	words, err := splitWords(text)
	if err != nil {
		return s, "", err
	}
	if len(words) > 0 && strings.HasPrefix(words[0], remote.CommitPrefix) {
		if rev, words = strings.TrimPrefix(words[0], remote.CommitPrefix), words[1:]; rev == "" {
			return s, "", errors.New("commit: needs a git revision, as in commit:HEAD~1")
		}
	}
	var args argsText
	fs := flag.NewFlagSet("variant", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	args.specFlags(fs, &s)
	defineProgramFlags(fs, programs, &args.given)
	if err := args.parse(fs, words); errors.Is(err, flag.ErrHelp) {
		return s, "", errors.New("--help stands alone")
	} else if err != nil {
		return s, "", fmt.Errorf("%w: %s", err, variantForm)
	}
	return s, rev, args.apply(&s, programs)
}

const variantForm = "a variant has the number of servers and clients, commit:REV, --server-args, --client-args, --secs, --symmetric, --servers-per-node, --clients-per-node, --server-cores, --client-cores, and the flags of the programs"

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
