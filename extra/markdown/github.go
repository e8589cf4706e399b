package markdown

import (
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// github writes the section as GitHub Flavored Markdown (https://github.github.com/gfm). link
// returns the path of a figure's file; "" for none.
func (s *section) github(link func(name string) string) string {
	var b strings.Builder
	blocks := slices.DeleteFunc(slices.Clone(s.blocks), func(b block) bool { return b.kind == figure && link(b.text) == "" })
	for i, one := range blocks {
		if i > 0 && !(one.kind == item && blocks[i-1].kind == item) {
			b.WriteByte('\n')
		}
		switch one.kind {
		case heading:
			level := "###"
			if one.top {
				level = "##"
			}
			fmt.Fprintf(&b, "%s %s\n", level, inline(one.spans))
		case paragraph, caption:
			strong := ""
			if one.top {
				strong = "**"
			}
			fmt.Fprintln(&b, strong+inline(one.spans)+strong)
		case item:
			fmt.Fprintf(&b, "* %s\n", inline(one.spans))
		case shell:
			fmt.Fprintf(&b, "```sh\n%s\n```\n", one.text)
		case figure:
			fmt.Fprintf(&b, "![%s](%s)\n", inline(one.spans), (&url.URL{Path: filepath.ToSlash(link(one.text))}).EscapedPath())
		case tabular:
			one.github(&b)
		}
	}
	return b.String()
}

// github writes a table, whose caption is a paragraph.
func (t block) github(b *strings.Builder) {
	if text := inline(t.spans); text != "" {
		fmt.Fprintf(b, "%s:\n\n", strings.TrimSuffix(text, "."))
	}
	rule := "|"
	for _, c := range t.head {
		fmt.Fprintf(b, "| %s ", strings.ReplaceAll(inline(c.spans), "|", `\|`))
		if rule += "---|"; !c.name {
			rule = strings.TrimSuffix(rule, "|") + ":|"
		}
	}
	fmt.Fprintf(b, "|\n%s\n", rule)
	for _, row := range t.rows {
		for _, c := range row {
			fmt.Fprintf(b, "| %s ", strings.ReplaceAll(inline(c), "|", `\|`))
		}
		b.WriteString("|\n")
	}
}

var (
	plain   = regexp.MustCompile(`^[-\w./:=,%+]+$`)
	special = regexp.MustCompile("[\\\\`*_{}\\[\\]<>~&#]") // characters that mean something within a line, but the | of tables
	first   = regexp.MustCompile(`^(\d*)([-+=.)])(\s|$)`)  // at the beginning of one
)

// inline writes text within a line. Code that has other characters than a flag, or that follows
// other code, is written as text.
func inline(spans []span) string {
	var b strings.Builder
	for i, s := range spans {
		if s.code && plain.MatchString(s.text) && (i == 0 || !spans[i-1].code) {
			b.WriteString("`" + s.text + "`")
		} else {
			b.WriteString(special.ReplaceAllString(s.text, `\$0`))
		}
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	return first.ReplaceAllString(text, `$1\$2$3`)
}
