package compare

import (
	"fmt"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/plots/folder"
)

// ownFlags are the flags that the launcher gives each node for itself, and those
// that configuration has under their own names.
var ownFlags = []string{"node", "listen", "port", "hosts", "client", "clients", "seed", "engine"}

// identity is a run's configuration with what it ran on: every flag of its programs,
// their commit, their cores, and the machines.
func identity(r *folder.Run) map[string]string {
	all := folder.Configuration(r)
	all["servers + clients"] = folder.DescribeTopology(r.Run)
	if r.GitCommit != "" {
		all["git commit"] = r.GitCommit
	}
	if r.Together != "" {
		all["other trials on the nodes"] = "1 at the same time"
	}
	for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
		config := configOf(r, role)
		if config == nil {
			continue
		}
		for flag, value := range config.Flags {
			if _, known := all[flag]; (!known || role == metrics.Server) && !slices.Contains(ownFlags, flag) {
				all[string(role)+" -"+flag] = value
			}
		}
		if config.Cores != "" {
			all[string(role)+" cores"] = config.Cores
		}
	}
	var machines []string
	for _, row := range folder.Hardware(r.Nodes) {
		machines = append(machines, fmt.Sprintf("%s, %d cores, %s, Linux %s, %s", row.CPUModel, row.Cores, row.Memory, row.Kernel, row.GoVersion))
	}
	if len(machines) > 0 {
		all["machines"] = strings.Join(slices.Compact(slices.Sorted(slices.Values(machines))), "; ")
	}
	return all
}

// configOf is that of the first node of a role; nil when none has said it.
func configOf(r *folder.Run, role metrics.Role) *metrics.Config {
	for _, node := range r.Nodes {
		if node.Role == role && node.Config != nil {
			return node.Config
		}
	}
	return nil
}
