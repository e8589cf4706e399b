package cluster

import (
	"io"
	"os"

	"kvlab/metrics/format"
)

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
func painterOf(w io.Writer) painter {
	return painter(format.Width(w) > 0 && os.Getenv("NO_COLOR") == "")
}

func (p painter) paint(colour, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
