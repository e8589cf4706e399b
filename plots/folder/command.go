package folder

import (
	"cmp"
	"slices"
	"strings"

	"kvlab/metrics"
)

// Fixed returns the words of a recorded command, with the variants' commits in place of their
// revisions: a revision such as HEAD~1 is another commit by now.
func Fixed(begun metrics.Sweep) []string {
	words := slices.Clone(begun.Command[1:])
	for _, v := range begun.Variants {
		from := metrics.SourceOf(strings.Fields(v.Args))
		commit := cmp.Or(v.ServerCommit, v.GitCommit)
		if from.Kind == "" || from.Path() != "" || commit == "" || strings.HasSuffix(commit, "-dirty") {
			continue
		}
		for i, word := range words {
			if word == v.Args {
				words[i] = strings.Replace(word, from.Kind+from.Rev, from.Kind+commit, 1)
			}
		}
	}
	return words
}
