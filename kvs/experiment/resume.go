package experiment

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"kvlab/metrics"
)

// CheckSame returns an error if a sweep cannot be continued: the first difference between
// the launcher of today and the one that began it. Trials of different programs must not
// stand in one table.
func CheckSame(begun, today metrics.Sweep) error {
	if !slices.Equal(begun.Command, today.Command) {
		return fmt.Errorf("the command line differs: there %q, here %q", begun.Command, today.Command)
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

// SameRecord reports whether two records are the same JSON: one that was read may have no
// list where the other has an empty one.
func SameRecord(a, b any) bool {
	one, _ := json.Marshal(a) // both are written as JSON
	other, _ := json.Marshal(b)
	return bytes.Equal(one, other)
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
