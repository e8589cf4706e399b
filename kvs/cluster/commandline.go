package cluster

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/experiment"
	"kvlab/kvs/node"
	"kvlab/metrics/format"
)

// argsText holds what of a command line becomes a plan.Spec until all words are seen.
type argsText struct {
	server, client, nodes string
	words                 []string             // positional
	given                 []experiment.Setting // the programs' flags
}

// ParseArgs reads a command line without its program's name. Flags may stand
// before, between and after the positional words, those of the programs among them.
// The usage text goes to help when it is asked for; the error is then flag.ErrHelp.
func ParseArgs(args []string, defaultOut string, programs plan.Flags, help io.Writer) (Config, error) {
	var cfg Config
	var text argsText
	fs := newFlagSet(&cfg, &text, programs, defaultOut)
	args, err := pairAB(fs, args)
	if err != nil {
		return cfg, err
	}
	if err := text.parse(fs, args); errors.Is(err, flag.ErrHelp) {
		printUsage(fs, programs, fs.Arg(0) == "all" || fs.Arg(1) == "all", help)
		return cfg, err
	} else if err != nil {
		return cfg, err
	}
	if text.nodes != "" {
		cfg.Nodes = strings.Split(text.nodes, ",")
	}
	cfg.Given = text.given
	if err := text.apply(&cfg.Spec, programs); err != nil {
		return cfg, err
	}
	return cfg, cfg.Validate(fs)
}

// parse reads the flags and words of a command line.
func (t *argsText) parse(fs *flag.FlagSet, args []string) error {
	for len(args) > 0 {
		if isText(fs, args[0], len(t.words)) {
			t.words, args = append(t.words, args[0]), args[1:]
			continue
		}
		err := fs.Parse(args)
		if errors.Is(err, flag.ErrHelp) || isHelp(fs.Arg(0), t.words) {
			return flag.ErrHelp
		}
		if err != nil {
			if _, unknown := format.UnknownFlag(err, fs, "--"); unknown != nil {
				err = unknown
			}
			return fmt.Errorf("%w (see --help)", err)
		}
		if args = fs.Args(); len(args) > 0 {
			t.words, args = append(t.words, args[0]), args[1:]
		}
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
	return f == nil || isProgramFlag(f) && (joined || isBool(f)) // whole as it stands, so it is the labs' form
}

// isHelp reports whether the first positional word is the labs' "help".
func isHelp(word string, seen []string) bool { return word == "help" && len(seen) == 0 }

// specFlags defines the flags that say what a trial's processes are, beside those of the
// programs.
func (t *argsText) specFlags(fs *flag.FlagSet, s *plan.Spec) {
	fs.StringVar(&t.server, "server-args", "", "arguments for every server, in one `string`, quoted as for a shell")
	fs.StringVar(&t.client, "client-args", "", "arguments for every client, in one `string`, quoted as for a shell")
	fs.IntVar(&s.Secs, "secs", s.Secs, "length of the measured window in `seconds` (default: the client's -secs)")
	fs.BoolVar(&s.Symmetric, "symmetric", s.Symmetric, "every node both serves and loads; such a run compares only with its like")
	fs.IntVar(&s.ServersPerNode, "servers-per-node", s.ServersPerNode, "`number` of servers on each node that serves (default 1)")
	fs.IntVar(&s.ClientsPerNode, "clients-per-node", s.ClientsPerNode, "`number` of clients on each node that loads (default 1)")
	fs.StringVar(&s.ServerCores, "server-cores", s.ServerCores, "bind each server to these processors, a `list` such as 0-3,8")
	fs.StringVar(&s.ClientCores, "client-cores", s.ClientCores, "bind each client to these processors, a `list` such as 4-7")
}

// validateSpec names the first of those flags that is wrong.
func validateSpec(s plan.Spec, set map[string]bool) error {
	switch {
	case set["secs"] && s.Secs <= 0:
		return fmt.Errorf("--secs %d: must be a positive number of seconds", s.Secs)
	case set["servers-per-node"] && s.ServersPerNode < 1:
		return fmt.Errorf("--servers-per-node %d: want at least 1", s.ServersPerNode)
	case set["clients-per-node"] && s.ClientsPerNode < 1:
		return fmt.Errorf("--clients-per-node %d: want at least 1", s.ClientsPerNode)
	}
	for name, list := range map[string]string{"server-cores": s.ServerCores, "client-cores": s.ClientCores} {
		if !set[name] {
			continue
		}
		if _, err := node.ParseCores(list); err != nil {
			return fmt.Errorf("--%s %q: %w", name, list, err)
		}
	}
	return nil
}

// apply adds what the words and the programs' flags say to a spec.
func (t argsText) apply(s *plan.Spec, programs plan.Flags) error {
	for i, word := range t.words {
		var err error
		switch i {
		case 0:
			s.Servers, err = plan.ParseCount("servers", word)
		case 1:
			s.Clients, err = plan.ParseCount("clients", word)
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
	serverArgs, err := splitWords(t.server)
	if err != nil {
		return fmt.Errorf("--server-args %q: %w", t.server, err)
	}
	clientArgs, err := splitWords(t.client)
	if err != nil {
		return fmt.Errorf("--client-args %q: %w", t.client, err)
	}
	s.ServerArgs = append(slices.Clone(s.ServerArgs), serverArgs...)
	s.ClientArgs = append(slices.Clone(s.ClientArgs), clientArgs...)
	for _, g := range t.given {
		switch {
		case plan.HasFlag(serverArgs, g.Name):
			return fmt.Errorf("--%s: --server-args sets it too: give one of them", g.Name)
		case plan.HasFlag(clientArgs, g.Name):
			return fmt.Errorf("--%s: --client-args sets it too: give one of them", g.Name)
		}
		if err := s.Set(g.Name, g.Value, programs); err != nil {
			return fmt.Errorf("--%s: %w", g.Name, err)
		}
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
