package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/plots/folder"
)

// sameOperations says in words how many operations the runs have in common. A client
// keeps a digest of its workers' first 2^k operations, for each k.
func sameOperations(runs []*folder.Run) string {
	if differ := unlikeOperations(runs); differ != "" {
		return "different operations: " + differ
	}
	first, same, whole := runs[0], math.MaxInt, true
	for _, r := range runs[1:] {
		n, ends, known := sharedPrefix(first.Run, r.Run)
		switch {
		case !known:
			return "cannot tell whether the operations are the same: a run has no digests of them"
		case n == 0 || !ends:
			return fmt.Sprintf("different operations, though the flags are the same: two runs share the first %s", operationsText(n))
		}
		same, whole = min(same, n), whole && equalDigests(first.Run, r.Run)
	}
	if whole {
		return "same operations: all of each worker"
	}
	return fmt.Sprintf("same operations: the first %s of each worker", operationsText(same))
}

// operationsText is the number of operations that a number of equal digests prove.
func operationsText(prefixes int) string {
	if prefixes == 0 {
		return "none"
	}
	return fmt.Sprintf("2^%d", prefixes-1)
}

// unlikeOperations names the settings that make the runs' operations different:
// "seed 1 and 2"; "" for none.
func unlikeOperations(runs []*folder.Run) string {
	var differ []string
	note := func(name string, value func(*folder.Run) string) {
		var values []string
		for _, r := range runs {
			if v := named(value(r)); !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		if len(values) > 1 {
			differ = append(differ, name+" "+strings.Join(values, " and "))
		}
	}
	for _, name := range workFlags(runs) {
		note(name, func(r *folder.Run) string { return r.Workload[name] })
	}
	note("clients", func(r *folder.Run) string { return fmt.Sprint(r.Count(metrics.Client)) })
	return strings.Join(differ, ", ")
}

// workFlags are the flags that decide which operations a worker draws.
func workFlags(runs []*folder.Run) []string {
	all := make(map[string]bool)
	for _, r := range runs {
		config := r.Config(metrics.Client)
		for name := range r.Workload {
			if config.ClassOf(name) == metrics.WorkFlag {
				all[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// sharedPrefix returns how many prefix digests all clients of two runs share, and
// whether one of the runs has no further ones. known is false if a client kept none.
func sharedPrefix(a, b metrics.Run) (n int, ends, known bool) {
	n, ends = math.MaxInt, true
	pa, pb := prefixesOf(a), prefixesOf(b)
	if len(pa) == 0 || len(pa) != len(pb) {
		return 0, false, false
	}
	for i := range pa {
		most := min(len(pa[i]), len(pb[i]))
		if most == 0 {
			return 0, false, false
		}
		shared := 0
		for shared < most && pa[i][shared] == pb[i][shared] {
			shared++
		}
		n, ends = min(n, shared), ends && shared == most
	}
	return n, ends, true
}

// prefixesOf are the digests that each client of a run kept.
func prefixesOf(run metrics.Run) (all [][]string) {
	for _, client := range run.Summaries(metrics.Client) {
		all = append(all, client.Prefixes)
	}
	return all
}

// equalDigests reports whether every worker of two runs did exactly the same
// operations.
func equalDigests(a, b metrics.Run) bool {
	digests := func(run metrics.Run) (all []string) {
		for _, client := range run.Summaries(metrics.Client) {
			all = append(all, client.Digests...)
		}
		return all
	}
	return slices.Equal(digests(a), digests(b))
}
