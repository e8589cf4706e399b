package format

import (
	"strings"
	"unicode/utf8"
)

// Columns is the width of text for terminals.
const Columns = 80

// Wrap breaks a text into lines that end before column 80. The first begins at a column,
// and the others are indented. A word that is longer gets its own line. A number stays
// with its %.
func Wrap(text string, column, indent int) string {
	var b strings.Builder
	for i, word := range strings.Fields(strings.ReplaceAll(text, " %", "\x00%")) {
		word = strings.ReplaceAll(word, "\x00", " ")
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > Columns:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
