package cluster

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// columns is the width of the launcher's text, of whatever it is written to: that of a
// terminal as it is opened.
const columns = 80

// widthOf returns the current width of a terminal that moves its cursor, 0 for anything
// else.
func widthOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width == 0 {
		return columns
	}
	return width
}

// The colours of text, as parameters of SGR (ECMA-48, 8.3.117). They are of the 16 that
// every palette has, and say nothing that the words do not.
const (
	bold   = "1"
	green  = "1;32"
	red    = "1;31"
	yellow = "33"
)

// painter colours text, or returns it as it is.
type painter bool

// painterOf returns the painter for an output: it colours text on a terminal, unless
// NO_COLOR is set (https://no-color.org).
func painterOf(w io.Writer) painter { return painter(widthOf(w) > 0 && os.Getenv("NO_COLOR") == "") }

func (p painter) paint(colour, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// wrap breaks a text into lines that end before column 80. The first begins at a column,
// and the others are indented. A word that is longer gets its own line. A number stays
// with its %.
func wrap(text string, column, indent int) string {
	var b strings.Builder
	for i, word := range strings.Fields(strings.ReplaceAll(text, " %", "\x00%")) {
		word = strings.ReplaceAll(word, "\x00", " ")
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > columns:
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
