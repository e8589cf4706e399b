package cluster

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/remote"
)

// variant is one variant of an A/B comparison: launcher flags that are added to the rest
// of the command line, and the commit of its programs.
type variant struct {
	text     string // as it was typed
	rev      string // the git revision of the programs; "" for this checkout's
	words    []string
	programs plan.Flags
}

// parseVariant parses the text of a variant. Its errors name the right form.
func parseVariant(text string, programs plan.Flags) (variant, error) {
	v := variant{text: text, programs: programs}
	words, err := splitWords(text)
	if err != nil {
		return v, err
	}
	if len(words) > 0 {
		if rev, ok := strings.CutPrefix(words[0], remote.CommitPrefix); ok {
			if v.rev, words = rev, words[1:]; rev == "" {
				return v, errors.New("commit: needs a git revision, as in commit:HEAD~1")
			}
		}
	}
	v.words = words
	_, err = v.apply(plan.Spec{})
	return v, err
}

// apply overlays the variant's settings. Its arguments come last, so they win. A variant
// has only flags that define what runs: all variants run on the same nodes and equally
// often.
func (v variant) apply(s plan.Spec) (plan.Spec, error) {
	var text argsText
	fs := flag.NewFlagSet("variant", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	text.specFlags(fs, &s)
	defineProgramFlags(fs, v.programs, &text.given)
	err := text.parse(fs, v.words)
	if errors.Is(err, flag.ErrHelp) {
		return s, errors.New("--help stands alone")
	}
	if err != nil {
		return s, fmt.Errorf("%w: %s", err, variantForm)
	}
	return s, text.apply(&s, v.programs)
}

const variantForm = "a variant has the number of servers and clients, commit:REV, --server-args, --client-args, --secs, --symmetric, --servers-per-node, --clients-per-node, --server-cores, --client-cores, and the flags of the programs"

// pairAB rewrites --ab A B to --ab=A --ab=B, because a flag has one value. It skips the
// values of other flags.
func pairAB(fs *flag.FlagSet, args []string) ([]string, error) {
	var out []string
	for i := 0; i < len(args); i++ {
		word := args[i]
		name, _, joined := strings.Cut(strings.TrimLeft(word, "-"), "=")
		isFlag := strings.HasPrefix(word, "-")
		switch f := fs.Lookup(name); {
		case isFlag && name == "ab" && !joined:
			if i+2 >= len(args) {
				return nil, errors.New(`--ab: ` + abForm)
			}
			out = append(out, "--ab="+args[i+1], "--ab="+args[i+2])
			i += 2
		case isFlag && !joined && f != nil && !isBool(f) && i+1 < len(args):
			out = append(out, word, args[i+1])
			i++
		default:
			out = append(out, word)
		}
	}
	return out, nil
}

const abForm = `wants two strings of arguments, as in --ab "" "--batch 1024" or --ab commit:HEAD~1 ""`

// isBool reports whether a flag takes no value.
func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}
