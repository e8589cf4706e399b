package cluster

import (
	"flag"
	"fmt"

	"kvlab/kvs/node"
)

// topologyFlags defines the flags that say how processes share nodes.
func (c *Config) topologyFlags(fs *flag.FlagSet) {
	fs.BoolVar(&c.Symmetric, "symmetric", false, "every node both serves and loads; such a run compares only with its like")
	fs.IntVar(&c.ServersPerNode, "servers-per-node", 0, "`number` of servers on each node that serves (default 1)")
	fs.IntVar(&c.ClientsPerNode, "clients-per-node", 0, "`number` of clients on each node that loads (default 1)")
	fs.StringVar(&c.ServerCores, "server-cores", "", "bind each server to these processors, a `list` such as 0-3,8")
	fs.StringVar(&c.ClientCores, "client-cores", "", "bind each client to these processors, a `list` such as 4-7")
}

// validateTopology names the first of those flags that is wrong.
func (c Config) validateTopology(set map[string]bool) error {
	switch {
	case set["servers-per-node"] && c.ServersPerNode < 1:
		return fmt.Errorf("--servers-per-node %d: want at least 1", c.ServersPerNode)
	case set["clients-per-node"] && c.ClientsPerNode < 1:
		return fmt.Errorf("--clients-per-node %d: want at least 1", c.ClientsPerNode)
	}
	for name, list := range map[string]string{"server-cores": c.ServerCores, "client-cores": c.ClientCores} {
		if !set[name] {
			continue
		}
		if _, err := node.ParseCores(list); err != nil {
			return fmt.Errorf("--%s %q: %w", name, list, err)
		}
	}
	return nil
}
