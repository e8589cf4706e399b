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

// variant is what a trial has of its own, as launcher flags: what is added to the rest
// of the command line, and the commit of its programs.
type variant struct {
	text string // as it was typed
	rev  string // the git revision of the programs; "" for this checkout's
	own  Config // of the flags in set alone
	set  map[string]bool
}

// variantFlags are the launcher's flags that a variant may have: those that say what
// runs. Where it runs, and how often, is the same for all variants.
var variantFlags = []string{
	"server-args", "client-args", "secs", "symmetric", "servers-per-node", "clients-per-node", "server-cores", "client-cores", plan.EncryptionFlag,
}

// parseVariant reads the text of a variant. Its errors say what is wrong and the right
// form.
func parseVariant(text string) (variant, error) {
	v := variant{text: text, set: make(map[string]bool)}
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
	own, fs, err := parseWords(words, ".", io.Discard)
	if errors.Is(err, flag.ErrHelp) {
		err = errors.New("--help stands alone")
	}
	if err != nil {
		return v, err
	}
	v.own = own
	fs.Visit(func(f *flag.Flag) { v.set[f.Name] = true })
	for name := range v.set {
		if !slices.Contains(variantFlags, name) {
			return v, fmt.Errorf("--%s is not a side's: a side has the number of servers and clients, commit:REV, and the flags --%s", name, strings.Join(variantFlags, ", --"))
		}
	}
	return v, nil
}

// apply overlays the variant's settings. Its arguments come last, so they win.
func (v variant) apply(s plan.Spec) plan.Spec {
	s.ServerArgs = append(slices.Clone(s.ServerArgs), v.own.ServerArgs...)
	s.ClientArgs = append(slices.Clone(s.ClientArgs), v.own.ClientArgs...)
	if v.own.Servers > 0 {
		s.Servers = v.own.Servers
	}
	if v.own.Clients > 0 {
		s.Clients = v.own.Clients
	}
	for name, take := range map[string]func(){
		"secs":              func() { s.Secs = v.own.Secs },
		"symmetric":         func() { s.Symmetric = v.own.Symmetric },
		"servers-per-node":  func() { s.ServersPerNode = v.own.ServersPerNode },
		"clients-per-node":  func() { s.ClientsPerNode = v.own.ClientsPerNode },
		"server-cores":      func() { s.ServerCores = v.own.ServerCores },
		"client-cores":      func() { s.ClientCores = v.own.ClientCores },
		plan.EncryptionFlag: func() { s.TLS = v.own.TLS },
	} {
		if v.set[name] {
			take()
		}
	}
	return s
}

// pairAB makes --ab A B, which has two values, --ab=A --ab=B, as a flag has one.
// A word that is another flag's value is not looked at.
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

const abForm = `wants two strings of arguments, as in --ab "" '--client-args "-batch 1024"' or --ab commit:HEAD~1 ""`

// isBool reports whether a flag goes without a value.
func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}
