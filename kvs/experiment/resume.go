package experiment

import (
	"fmt"
	"maps"
	"slices"

	"kvlab/metrics"
)

// CheckSame says what keeps a sweep from being continued: the first thing in
// which the launcher of today differs from the one that began it. Trials of two
// programs in one table would be compared as if they were one's.
func CheckSame(begun, today metrics.Sweep) error {
	for i := range max(len(begun.Command), len(today.Command)) {
		if then, now := word(begun.Command, i), word(today.Command, i); then != now {
			return fmt.Errorf("the command line was another: there %s, here %s", then, now)
		}
	}
	if begun.GitCommit != today.GitCommit {
		return fmt.Errorf("the git commit was another: %s, and here it is %s", known(begun.GitCommit), known(today.GitCommit))
	}
	if err := samePrograms(begun.Programs, today.Programs); err != nil {
		return err
	}
	for i := range min(len(begun.Variants), len(today.Variants)) {
		then, now := begun.Variants[i], today.Variants[i]
		if then.GitCommit != now.GitCommit {
			return fmt.Errorf("side %s's git commit was another: %s, and here it is %s", metrics.VariantNames[i], known(then.GitCommit), known(now.GitCommit))
		}
		if err := samePrograms(then.Programs, now.Programs); err != nil {
			return fmt.Errorf("of side %s %w", metrics.VariantNames[i], err)
		}
	}
	return nil
}

// samePrograms says which role's program is another.
func samePrograms(begun, today map[metrics.Role]string) error {
	for _, role := range slices.Sorted(maps.Keys(begun)) {
		if then, now := begun[role], today[role]; then != now {
			return fmt.Errorf("the %s's program was another: sha256 %.12s, and here it is %.12s", role, then, now)
		}
	}
	return nil
}

// word is a word of a command line in quotes, or that it has ended.
func word(command []string, i int) string {
	if i < len(command) {
		return fmt.Sprintf("%q", command[i])
	}
	return "nothing more"
}

func known(commit string) string {
	if commit == "" {
		return "unknown"
	}
	return commit
}
