package markdown

import (
	"fmt"
	"strings"
)

// latex writes the section's tables for LaTeX with the package booktabs. The heading before a
// table, and its caption, are its \caption.
func (s *section) latex() string {
	var b strings.Builder
	b.WriteString("% Needs \\usepackage{booktabs}.\n")
	run, part := "", ""
	for _, one := range s.blocks {
		switch {
		case one.kind == heading && one.top:
			run, part = tex(one.spans), ""
			fmt.Fprintf(&b, "\n%% %s\n", strings.ReplaceAll(run, "\n", " "))
		case one.kind == heading:
			part = tex(one.spans)
		case one.kind == tabular:
			title := strings.Trim(part+". "+tex(one.spans), ". ")
			if title == "" {
				title = run
			}
			one.latex(&b, title)
		}
	}
	return b.String()
}

// latex writes a table.
func (t block) latex(b *strings.Builder, title string) {
	columns, head := "", []string{}
	for _, c := range t.head {
		if head = append(head, tex(c.spans)); c.name {
			columns += "l"
		} else {
			columns += "r"
		}
	}
	fmt.Fprintf(b, "\n\\begin{table}\n\\centering\n\\caption{%s}\n\\begin{tabular}{%s}\n\\toprule\n%s \\\\\n\\midrule\n", title, columns, strings.Join(head, " & "))
	for _, row := range t.rows {
		var cells []string
		for _, c := range row {
			text := tex(c)
			if strings.HasPrefix(text, "[") { // after \\ it would be a distance
				text = "{}" + text
			}
			cells = append(cells, text)
		}
		fmt.Fprintf(b, "%s \\\\\n", strings.Join(cells, " & "))
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n\\end{table}\n")
}

// texts replaces the characters that mean something to TeX.
var texts = strings.NewReplacer(`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "$", `\$`, "&", `\&`, "#", `\#`, "%", `\%`, "_", `\_`,
	"~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "<", `\textless{}`, ">", `\textgreater{}`, "|", `\textbar{}`, `"`, `\textquotedbl{}`, "--", `-{}-`, "\u00a0", "~")

// tex writes text for LaTeX.
func tex(spans []span) string {
	text := ""
	for _, s := range spans {
		if s.code {
			text += `\texttt{` + texts.Replace(s.text) + `}`
		} else {
			text += texts.Replace(s.text)
		}
	}
	return strings.Join(strings.Fields(text), " ")
}
