package index

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"kvlab/metrics/format"
)

// Text is a table of the entries, of which each is a line of at most width columns; 0 cuts
// none.
func Text(all []Entry, width int) string {
	rows := [][]string{{"id", "commit", "verdict", "ops/s", "p99 ms", "but", "work, result"}}
	for _, e := range all {
		rows = append(rows, e.cells(width))
	}
	last := len(rows[0]) - 1
	widths := make([]int, last)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, n := range widths {
			if i >= 3 { // numbers
				n = -n
			}
			line += fmt.Sprintf("%*s  ", -n, row[i])
		}
		if room := width - utf8.RuneCountInString(line); width > 0 {
			row[last] = format.Label(row[last], max(1, room))
		}
		fmt.Fprintln(&b, strings.TrimRight(line+row[last], " "))
	}
	return b.String()
}

// longestID is the room for an ID on a terminal of 80 columns.
const longestID = 30

// cells are the entry's cells in a table of a width.
func (e Entry) cells(width int) []string {
	id, rate, p99, but := format.Label(e.ID, 300), "", "", ""
	if width > 0 {
		id = format.Label(id, max(longestID, width-format.Columns+longestID))
	}
	if e.OpsPerS > 0 {
		rate = format.Count(e.OpsPerS)
	}
	if e.P99 != nil {
		p99 = format.Milliseconds(*e.P99)
	}
	names := ""
	if n := len(e.Reservations); n > 0 {
		but, names = fmt.Sprint(n), "but "+strings.Join(e.Reservations, ", ")
	}
	what := strings.Join(format.NonEmpty(e.Result, e.Work, names), "; ")
	return []string{id, e.ShortCommit(), e.verdict(), rate, p99, but, format.Label(what, 300)}
}

// verdict is the verdict as a table has it.
func (e Entry) verdict() string {
	if e.Verdict == "" {
		return "-"
	}
	return e.Verdict
}

// ShortCommit is the commit as git shortens it, with a + if there were changes.
func (e Entry) ShortCommit() string {
	commit, dirty := strings.CutSuffix(e.Commit, "-dirty")
	if commit = commit[:min(len(commit), 7)]; dirty {
		commit += "+"
	}
	return format.Label(commit, 8)
}
