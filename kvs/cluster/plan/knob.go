package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kvlab/metrics"
)

// ownFlags are the nodes' flags that the launcher sets.
var ownFlags = []string{"node", "listen", "port", "server", "servers", "hosts", "client", "clients"}

// Flags are the names of the flags that each program has.
type Flags map[metrics.Role][]string

// Set sets one knob.
func (s *Spec) Set(name, value string, flags Flags) (err error) {
	switch name {
	case "nodes":
		var nodes int
		if nodes, err = ParseCount(name, value); err == nil {
			err = s.useNodes(nodes)
		}
		return err
	case "servers":
		s.Servers, err = ParseCount(name, value)
		return err
	case "clients":
		s.Clients, err = ParseCount(name, value)
		return err
	}
	arg := "-" + name + "=" + value
	ofServer, ofClient := slices.Contains(flags[metrics.Server], name), slices.Contains(flags[metrics.Client], name)
	if slices.Contains(ownFlags, name) || !ofServer && !ofClient {
		return fmt.Errorf("no such knob: there are nodes, servers, clients, and the flags %s", strings.Join(flags.knobs(), ", "))
	}
	if ofServer {
		s.ServerArgs = append(s.ServerArgs, arg)
	}
	if ofClient {
		s.ClientArgs = append(s.ClientArgs, arg)
	}
	return nil
}

// knobs are the flags that may be swept, in order.
func (f Flags) knobs() []string {
	all := make(map[string]bool)
	for _, names := range f {
		for _, name := range names {
			all[name] = true
		}
	}
	for _, name := range ownFlags {
		delete(all, name)
	}
	return slices.Sorted(maps.Keys(all))
}
