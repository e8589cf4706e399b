package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"kvlab/kvs/cluster/nodes"
	"kvlab/metrics"
)

// side is one of the two configurations of --ab: what is added to the rest of the
// command line, and whose programs run.
type side struct {
	text string // as it was typed
	rev  string // the git revision whose programs run; "" for this checkout's
	own  Config // of the flags in set alone
	set  map[string]bool
}

// sideFlags are the launcher's flags that a side may have: those that say what is
// run. Where it is run, and how often, is the same for both.
var sideFlags = []string{
	"server-args", "client-args", "secs", "symmetric", "servers-per-node", "clients-per-node", "server-cores", "client-cores", encryptionFlag,
}

// commitPrefix is how a side names a revision.
const commitPrefix = "commit:"

// parseSide reads one of the two texts of --ab. Its errors say what is wrong and
// the right form.
func parseSide(text string) (side, error) {
	s := side{text: text, set: make(map[string]bool)}
	words, err := splitWords(text)
	if err != nil {
		return s, err
	}
	if len(words) > 0 {
		if rev, ok := strings.CutPrefix(words[0], commitPrefix); ok {
			if s.rev, words = rev, words[1:]; rev == "" {
				return s, errors.New("commit: needs a git revision, as in commit:HEAD~1")
			}
		}
	}
	own, fs, err := parseWords(words, ".", io.Discard)
	if errors.Is(err, flag.ErrHelp) {
		err = errors.New("--help stands alone")
	}
	if err != nil {
		return s, err
	}
	s.own = own
	fs.Visit(func(f *flag.Flag) { s.set[f.Name] = true })
	for name := range s.set {
		if !slices.Contains(sideFlags, name) {
			return s, fmt.Errorf("--%s is not a side's: a side has the number of servers and clients, commit:REV, and the flags --%s", name, strings.Join(sideFlags, ", --"))
		}
	}
	return s, nil
}

// onto is a configuration with what the side has of its own. Arguments of nodes
// follow those that both sides have, so that of a flag given twice the side's
// counts.
func (s side) onto(c Config) Config {
	c.ServerArgs = append(slices.Clone(c.ServerArgs), s.own.ServerArgs...)
	c.ClientArgs = append(slices.Clone(c.ClientArgs), s.own.ClientArgs...)
	if s.own.Servers > 0 {
		c.Servers = s.own.Servers
	}
	if s.own.Clients > 0 {
		c.Clients = s.own.Clients
	}
	for name, take := range map[string]func(){
		"secs":             func() { c.Secs = s.own.Secs },
		"symmetric":        func() { c.Symmetric = s.own.Symmetric },
		"servers-per-node": func() { c.ServersPerNode = s.own.ServersPerNode },
		"clients-per-node": func() { c.ClientsPerNode = s.own.ClientsPerNode },
		"server-cores":     func() { c.ServerCores = s.own.ServerCores },
		"client-cores":     func() { c.ClientCores = s.own.ClientCores },
		encryptionFlag:     func() { c.TLS = s.own.TLS },
	} {
		if s.set[name] {
			take()
		}
	}
	return c
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

// sides finds out what each side of the plan is, builds the programs of those that
// name a commit, and notes in the plan what they are.
func (c *campaign) sides(ctx context.Context, cfg Config, nodes []nodes.Node) error {
	for i, s := range cfg.Trials.AB {
		name := metrics.SideNames[i]
		at, err := c.side(ctx, cfg, s, nodes)
		switch {
		case ctx.Err() != nil:
			return errInterrupted
		case err != nil:
			return fmt.Errorf("--ab, side %s: %w", name, err)
		}
		sums, err := at.programs.Sums()
		if err != nil {
			return err
		}
		if i > 0 && c.plan.Together {
			first := c.points[metrics.PointName(c.plan.Knobs, []string{metrics.SideNames[0]})]
			if err := sameLengths(ctx, first, at); err != nil {
				return err
			}
			at.plan = at.plan.offsetPorts(first.plan)
		}
		c.points[metrics.PointName(c.plan.Knobs, []string{name})] = at
		c.plan.Sides = append(c.plan.Sides, metrics.Side{Args: s.text, GitCommit: at.commit, Programs: sums})
	}
	return nil
}

// side is the configuration of one side.
func (c *campaign) side(ctx context.Context, cfg Config, s side, nodes []nodes.Node) (at configuration, err error) {
	at = configuration{cfg: s.onto(cfg), programs: c.Programs, commit: c.plan.GitCommit}
	if s.rev != "" {
		if at.commit, at.programs, err = c.builds.programs(ctx, c.Root, s.rev); err != nil {
			return at, err
		}
	}
	if at.plan, err = makePlan(ctx, at.cfg.Spec, nodes); err != nil {
		return at, err
	}
	return at, at.programs.checkArgs(ctx, at.plan)
}
