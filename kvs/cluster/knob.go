package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kvlab/metrics"
)

// workloadFlags are the client flags that define the work.
var workloadFlags = []string{
	"workload", "reads", "distribution", "zipfian", "theta", "hot-ops", "hot-keys", "records", "value-size", "key-prefix", "scramble",
	"batch", "target-latency", "workers", "connections", "socket-buffer", "inflight", "coalesce", "crc", "retry", "tls", "rate", "seed", "router", "codec", "transport", "verify", "warmup", "secs",
}

// ownFlags are the nodes' flags that the launcher sets.
var ownFlags = []string{"node", "listen", "port", "server", "servers", "hosts", "client", "clients"}

// nodeFlags are the names of the flags that each program has.
type nodeFlags map[metrics.Role][]string

// turn sets one knob.
func (s *Spec) turn(name, value string, flags nodeFlags) (err error) {
	switch name {
	case "nodes":
		var nodes int
		if nodes, err = parseCount(name, value); err == nil {
			err = s.useNodes(nodes)
		}
		return err
	case "servers":
		s.Servers, err = parseCount(name, value)
		return err
	case "clients":
		s.Clients, err = parseCount(name, value)
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
