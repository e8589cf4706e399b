package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"kvlab/metrics"
)

// CheckSame returns an error if a sweep cannot be continued: the first difference between
// the launcher of today and the one that began it. Trials of different programs must not
// stand in one table.
func CheckSame(begun, today metrics.Sweep) error {
	for i := range max(len(begun.Command), len(today.Command)) {
		if then, now := word(begun.Command, i), word(today.Command, i); then != now {
			return fmt.Errorf("the command line differs: there %s, here %s", then, now)
		}
	}
	err := sameBuild(metrics.Variant{GitCommit: begun.GitCommit, Programs: begun.Programs}, metrics.Variant{GitCommit: today.GitCommit, Programs: today.Programs})
	for i := range min(len(begun.Variants), len(today.Variants)) {
		if err != nil {
			break
		}
		if err = sameBuild(begun.Variants[i], today.Variants[i]); err != nil {
			err = fmt.Errorf("variant %s: %w", metrics.VariantNames[i], err)
		}
	}
	return err
}

// sameBuild names the commit or the program that differs.
func sameBuild(begun, today metrics.Variant) error {
	if begun.GitCommit != today.GitCommit {
		return fmt.Errorf("the git commit differs: there %s, here %s", cmp.Or(begun.GitCommit, "unknown"), cmp.Or(today.GitCommit, "unknown"))
	}
	for _, role := range slices.Sorted(maps.Keys(begun.Programs)) {
		if then, now := begun.Programs[role], today.Programs[role]; then != now {
			return fmt.Errorf("the %s's program differs: sha256 there %.12s, here %.12s", role, then, now)
		}
	}
	return nil
}

// word returns a word of a command line in quotes, or "nothing more" after its end.
func word(command []string, i int) string {
	if i < len(command) {
		return fmt.Sprintf("%q", command[i])
	}
	return "nothing more"
}
