package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kvlab/internal/cli"
	"kvlab/metrics"
)

// Flags are the flags that each program has, without those that the launcher sets.
type Flags map[metrics.Role][]metrics.Flag

// has reports whether a role's program has a flag.
func (f Flags) has(role metrics.Role, name string) bool {
	return slices.ContainsFunc(f[role], func(g metrics.Flag) bool { return g.Name == name })
}

// Set sets one knob.
func (s *Spec) Set(name, value string, flags Flags) (err error) {
	name = present(name)
	counts := map[string]*int{"nodes": &s.Machines, "servers": &s.Servers, "clients": &s.Clients}
	if count := counts[name]; count != nil {
		if *count, err = ParseCount(value); err != nil {
			err = fmt.Errorf("number of %s %q: %w", name, value, err)
		}
		return err
	}
	if role, setting, ok := strings.Cut(name, "."); ok { // of a team's own program
		switch arg := Arg(setting, value); metrics.Role(role) {
		case metrics.Server:
			s.ServerArgs = append(s.ServerArgs, arg)
			return nil
		case metrics.Client:
			s.ClientArgs = append(s.ClientArgs, arg)
			return nil
		}
	}
	arg := Arg(name, value)
	ofServer, ofClient := flags.has(metrics.Server, name), flags.has(metrics.Client, name)
	if !ofServer && !ofClient {
		knobs := flags.knobs()
		return fmt.Errorf("no such knob%s (there are nodes, servers, clients, and the flags %s)",
			cli.DidYouMean(name, "", append(knobs, "nodes", "servers", "clients")), strings.Join(knobs, ", "))
	}
	if ofServer {
		s.ServerArgs = append(s.ServerArgs, arg)
	}
	if ofClient {
		s.ClientArgs = append(s.ClientArgs, arg)
	}
	return nil
}

// knobs returns the flags that may be swept, in order.
func (f Flags) knobs() []string {
	all := make(map[string]bool)
	for _, flags := range f {
		for _, flag := range flags {
			all[flag.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
