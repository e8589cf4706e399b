package compare

import (
	"fmt"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/plots/folder"
)

// identity is a run's configuration with every flag of its programs, their commit,
// their cores, and the machines.
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
		config := r.Config(role)
		if config == nil {
			continue
		}
		for _, flag := range config.FlagsOf(metrics.WorkFlag, metrics.ShapeFlag, metrics.OtherFlag) {
			if _, known := all[flag]; (!known || role == metrics.Server) && flag != "seed" {
				all[string(role)+" -"+flag] = config.Flags[flag]
			}
		}
		if config.Cores != "" {
			all[string(role)+" cores"] = config.Cores
		}
	}
	var machines []string
	for _, row := range folder.Hardware(r.Nodes) {
		machines = append(machines, fmt.Sprintf("%s, %d cores, %s, Linux %s, %s", row.CPUModel, row.Cores, row.Memory(), row.Kernel, row.GoVersion))
	}
	if len(machines) > 0 {
		all["machines"] = strings.Join(slices.Compact(slices.Sorted(slices.Values(machines))), "; ")
	}
	return all
}
