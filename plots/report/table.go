package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"kvlab/metrics/format"
)

// absent is the text of a value that was not measured.
const absent = "-"

// table is a table of words and numbers, for a page or a terminal.
type table struct {
	Caption string
	Columns []string
	Names   []int // the columns that hold words
	Rows    [][]cell
}

// cell is one cell of a table. Class is its style: "good", "bad", "group" or "".
type cell struct{ Text, Class string }

// add appends a row of plain cells and returns it.
func (t *table) add(texts ...string) []cell {
	row := make([]cell, len(texts))
	for i, text := range texts {
		row[i].Text = text
	}
	t.Rows = append(t.Rows, row)
	return row
}

// Class returns the style of a column's head, or of a cell in it.
func (t table) Class(column int, in ...cell) string {
	var class []string
	if slices.Contains(t.Names, column) {
		class = append(class, "name")
	}
	for _, c := range in {
		class = append(class, c.Class)
	}
	return strings.TrimSpace(strings.Join(class, " "))
}

// print writes the table for a terminal.
func (t table) print(out io.Writer) {
	aligned := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(aligned, strings.Join(t.Columns, "\t")+"\t")
	for _, row := range t.Rows {
		for _, c := range row {
			fmt.Fprint(aligned, format.Label(c.Text, 32)+"\t")
		}
		fmt.Fprintln(aligned)
	}
	aligned.Flush()
}

// grouped writes all digits of n, in groups of three.
func grouped(n uint64) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// percent writes a share; 0 is unknown.
func percent(share float64) string {
	if share == 0 {
		return absent
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}
