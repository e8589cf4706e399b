package index

import (
	"fmt"
	"strings"

	"kvlab/metrics/format"
)

// Text returns a table of the entries. Each is a line of at most width columns; 0 cuts none.
func Text(all []Entry, width int) string {
	rows := [][]string{{"id", "commit", "verdict", "ops/s", "p99 ms", "caveats", "work, result"}}
	for _, e := range all {
		rows = append(rows, e.cells(width))
	}
	var text strings.Builder
	for line := range strings.Lines(format.Aligned(rows)) {
		if line = strings.TrimRight(line, " \n"); width > 0 {
			line = format.Label(line, width)
		}
		fmt.Fprintln(&text, line)
	}
	return text.String()
}

// longestID is the room for an ID on a terminal of 80 columns.
const longestID = 30

// cells returns the entry's line in a table of a width.
func (e Entry) cells(width int) []string {
	room, rate, p99, number, names := 300, "", "", "", ""
	if width > 0 {
		room = max(longestID, width-format.Columns+longestID)
	}
	if e.OpsPerS > 0 {
		rate = format.Count(e.OpsPerS)
	}
	if e.P99 != nil {
		p99 = format.Milliseconds(*e.P99)
	}
	if n := len(e.Caveats); n > 0 {
		number, names = fmt.Sprint(n), "but "+strings.Join(e.Caveats, ", ")
	}
	what := format.Label(strings.Join(format.NonEmpty(e.Result, e.Work, names), "; "), 300)
	return []string{format.Label(e.ID, room), e.ShortCommit(), e.State(), fmt.Sprintf("%5s", rate), fmt.Sprintf("%6s", p99), fmt.Sprintf("%7s", number), what}
}

// ShortCommit returns the commit as git shortens it, with a + if there were changes.
func (e Entry) ShortCommit() string {
	commit, dirty := strings.CutSuffix(e.Commit, "-dirty")
	if commit = commit[:min(len(commit), 7)]; dirty {
		commit += "+"
	}
	return format.Label(commit, 8)
}
