package experiment

import (
	"cmp"
	"encoding/json"
	"errors"
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
	if there, here := jsonOf(begun.Study), jsonOf(today.Study); there != here {
		return errors.New("the study's file, or what it needs, has changed")
	}
	if err := sameClass(begun.Class, today.Class); err != nil {
		return err
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

// sameClass names the first entry that differs. What builds a foreign store may make another
// program of the same source each time.
func sameClass(begun, today *metrics.Class) error {
	if begun == nil || today == nil || len(begun.Entries) != len(today.Entries) {
		if begun != today {
			return errors.New("the class has other entries")
		}
		return nil
	}
	same := func(a, b metrics.Entry) bool {
		if a.Kind == metrics.TargetEntry {
			a.Sum = b.Sum
		}
		return a.Name == b.Name && a.Kind == b.Kind && a.Args == b.Args && a.Commit == b.Commit && a.Sum == b.Sum && a.Source == b.Source && (a.Broken == "") == (b.Broken == "")
	}
	for i, e := range begun.Entries {
		if !same(e, today.Entries[i]) {
			return fmt.Errorf("the entry %s has changed since: measure a new version with --only %[1]s", e.Name)
		}
	}
	there, here := *begun, *today
	there.Entries, here.Entries = nil, nil
	there.BudgetS = here.BudgetS // scores may need more rounds than were thought
	if jsonOf(there) != jsonOf(here) {
		return errors.New("the class's file has changed")
	}
	return nil
}

// jsonOf is a record as text, to be compared.
func jsonOf(record any) string {
	text, _ := json.Marshal(record) // it was read or is written as JSON
	return string(text)
}
