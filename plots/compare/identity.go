package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/plots/folder"
)

// The settings in which a result may differ from its baseline.
const (
	commitSetting   = "git commit" // of folder.Run.Configuration
	machinesSetting = "machines"
)

// identity returns a run's configuration with every flag of its programs, their cores,
// and the machines.
func identity(r *folder.Run) map[string]string {
	all := r.Configuration()
	all["servers + clients"] = folder.DescribeTopology(r.Run)
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
		all[machinesSetting] = strings.Join(slices.Compact(slices.Sorted(slices.Values(machines))), "; ")
	}
	return all
}

// sameOperations says how many operations the runs have in common. A client
// keeps a digest of its workers' first 2^k operations, for each k, and one of all
// operations of each worker.
func sameOperations(runs []*folder.Run) string {
	if differ := unlikeOperations(runs); differ != "" {
		return "different operations: " + differ
	}
	same, whole := math.MaxInt, true
	first := runs[0].Summaries(metrics.Client)
	for _, r := range runs[1:] {
		clients := r.Summaries(metrics.Client)
		if len(first) == 0 || len(clients) != len(first) {
			return unknownOperations
		}
		for i, client := range clients {
			a, b := first[i].Prefixes, client.Prefixes
			most, n := min(len(a), len(b)), 0
			for n < most && a[n] == b[n] {
				n++
			}
			switch {
			case most == 0:
				return unknownOperations
			case n == 0:
				return "different operations, though the flags are the same: two runs share none"
			case n < most:
				return fmt.Sprintf("different operations, though the flags are the same: two runs share the first 2^%d", n-1)
			}
			same, whole = min(same, n), whole && slices.Equal(first[i].Digests, client.Digests)
		}
	}
	if whole {
		return "same operations: all of each worker"
	}
	return fmt.Sprintf("same operations: the first 2^%d of each worker", same-1)
}

const unknownOperations = "cannot tell whether the operations are the same: a run has no digests of them"

// unlikeOperations names the settings that make the runs' operations different:
// "seed 1 and 2"; "" for none.
func unlikeOperations(runs []*folder.Run) string {
	var works []map[string]string
	for _, r := range runs {
		work := map[string]string{"clients": fmt.Sprint(r.Count(metrics.Client))}
		for flag, value := range r.Workload {
			if r.Config(metrics.Client).ClassOf(flag) == metrics.WorkFlag {
				work[flag] = value
			}
		}
		works = append(works, work)
	}
	return strings.Join(differing(" ", works...), ", ")
}
