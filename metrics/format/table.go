package format

import (
	"strings"
	"text/tabwriter"
)

// Aligned returns the rows of a table as lines, with two spaces between the columns.
func Aligned(rows [][]string) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		w.Write([]byte(strings.Join(row, "\t") + "\n")) // to memory: no error
	}
	w.Flush()
	return out.String()
}
