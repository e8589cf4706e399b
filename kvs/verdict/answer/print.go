package answer

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"kvlab/metrics/format"
)

// Print prints an answer in about eight lines of 80 characters: the figures, what was
// checked, what limits and what weakens them, where the rest is, and what to do next. A result
// that is not good has at most mostLines with the verdict. The verdict has the whole reason.
// page is the file of the folder that shows it; "" for none.
func (a Answer) Print(w io.Writer, folder, page string) {
	p := painterOf(w)
	var rest strings.Builder
	line := func(name, colour, text string) {
		if text = format.Wrap(text, answerIndent, answerIndent); !a.Good && (name == "checked" || name == "limit") {
			text = firstLines(text, 1)
		}
		if text != "" {
			fmt.Fprintf(&rest, "%s%s%s\n", p.paint(colour, name), strings.Repeat(" ", answerIndent-len(name)), text)
		}
	}
	if !a.Good {
		line("rate", bold, a.Basis)
	}
	line("rate", bold, a.Rate)
	line("latency", bold, a.Latency)
	if a.Stages != nil {
		columns, rows := StageTable(a.Stages)
		line("stages", bold, StageNote)
		rest.WriteString(format.Aligned(append([][]string{columns}, rows...)))
	}
	line("commits", bold, a.Commits)
	line("bytes", bold, a.Bytes)
	line("restart", bold, a.Restart)
	line("checked", bold, a.Checked)
	line("limit", bold, a.Limit)
	for _, r := range a.Caveats {
		line("caveat", yellow, r.String())
	}
	if page == "" {
		line("logs", bold, folder)
	} else {
		line("report", bold, filepath.Join(folder, page))
	}
	line("next", bold, a.Next)
	if a.Verdict != "" {
		colour, head := red, a.Verdict+": "+a.Headline
		if a.Good {
			colour, head = green, strings.Join(format.NonEmpty(head, a.Basis), ", ")
		}
		if head = format.Wrap(head, 0, 2); !a.Good {
			head = firstLines(head, max(1, mostLines-1-strings.Count(rest.String(), "\n")))
		}
		fmt.Fprintln(w, p.paint(colour, a.Verdict)+strings.TrimPrefix(head, a.Verdict))
	}
	fmt.Fprint(w, rest.String())
}

// firstLines cuts a text after some lines.
func firstLines(text string, most int) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= most {
		return text
	}
	return strings.Join(lines[:most], "\n") + " …"
}

// mostLines is the largest number of lines of an INVALID result on a terminal.
const mostLines = 6

// answerIndent is the column at which an answer's sentences begin.
const answerIndent = 9

// The colours of text, as parameters of SGR (ECMA-48, 8.3.117). Every palette has them. They
// say nothing that the words do not.
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
