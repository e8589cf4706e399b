package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kvlab/metrics"
)

// ownFlags are the nodes' flags that the launcher sets.
var ownFlags = []string{"node", "listen", "port", "server", "servers", "hosts", "client", "clients"}

// nodeFlags are the names of the flags that each program has.
type nodeFlags map[metrics.Role][]string

// at is the configuration of one point: the knobs' values are put in their
// places, a flag that both programs have into both.
func (c Config) at(knobs []metrics.Knob, point []string, flags nodeFlags) (Config, error) {
	c.ServerArgs, c.ClientArgs = slices.Clone(c.ServerArgs), slices.Clone(c.ClientArgs)
	for i, knob := range knobs {
		if err := c.turn(knob.Name, point[i], flags); err != nil {
			return c, fmt.Errorf("--sweep %s=%s: %w", knob.Name, point[i], err)
		}
	}
	return c, nil
}

// turn sets one knob.
func (c *Config) turn(name, value string, flags nodeFlags) (err error) {
	switch name {
	case "nodes":
		var nodes int
		if nodes, err = parseCount(name, value); err == nil {
			err = c.useNodes(nodes)
		}
		return err
	case "servers":
		c.Servers, err = parseCount(name, value)
		return err
	case "clients":
		c.Clients, err = parseCount(name, value)
		return err
	}
	arg := "-" + name + "=" + value
	ofServer, ofClient := slices.Contains(flags[metrics.Server], name), slices.Contains(flags[metrics.Client], name)
	if slices.Contains(ownFlags, name) || !ofServer && !ofClient {
		return fmt.Errorf("no such knob: there are nodes, servers, clients, and the flags %s", strings.Join(flags.knobs(), ", "))
	}
	if ofServer {
		c.ServerArgs = append(c.ServerArgs, arg)
	}
	if ofClient {
		c.ClientArgs = append(c.ClientArgs, arg)
	}
	return nil
}

// knobs are the flags that may be swept, in order.
func (f nodeFlags) knobs() []string {
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
