package index

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"kvlab/metrics/format"
)

// Text is a table of the entries, of which each is a line of at most width columns; 0 cuts
// none.
func Text(all []Entry, width int) string {
	var table, text strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "id\tcommit\tverdict\tops/s\tp99 ms\treserv.\twork, result")
	for _, e := range all {
		fmt.Fprintln(w, e.line(width))
	}
	w.Flush() // to memory: no error
	for line := range strings.Lines(table.String()) {
		if line = strings.TrimRight(line, " \n"); width > 0 {
			line = format.Label(line, width)
		}
		fmt.Fprintln(&text, line)
	}
	return text.String()
}

// longestID is the room for an ID on a terminal of 80 columns.
const longestID = 30

// line is the entry's line, with tabs between the cells, in a table of a width.
func (e Entry) line(width int) string {
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
	if n := len(e.Reservations); n > 0 {
		number, names = fmt.Sprint(n), "but "+strings.Join(e.Reservations, ", ")
	}
	what := format.Label(strings.Join(format.NonEmpty(e.Result, e.Work, names), "; "), 300)
	return fmt.Sprintf("%s\t%s\t%s\t%5s\t%6s\t%7s\t%s", format.Label(e.ID, room), e.ShortCommit(), cmp.Or(e.Verdict, "-"), rate, p99, number, what)
}

// ShortCommit is the commit as git shortens it, with a + if there were changes.
func (e Entry) ShortCommit() string {
	commit, dirty := strings.CutSuffix(e.Commit, "-dirty")
	if commit = commit[:min(len(commit), 7)]; dirty {
		commit += "+"
	}
	return format.Label(commit, 8)
}
