package format

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Columns is the width of text for terminals.
const Columns = 80

// Width returns the current width of a terminal that moves its cursor, 0 for anything
// else.
func Width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width == 0 {
		return Columns
	}
	return width
}

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
