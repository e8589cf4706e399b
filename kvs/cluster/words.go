package cluster

import (
	"errors"
	"strings"
)

// splitWords cuts the text of --server-args or --client-args into arguments
// the way a POSIX shell's quoting does (Shell Command Language, 2.2), and does
// nothing else of a shell: no variable, no glob, no command substitution. A
// shell is never asked, so what a quote protects arrives at the node unchanged.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	open := false // a word has begun, though it may still be empty
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\t', '\n', '\r':
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		case '\'', '"':
			quoted, n, ok := unquote(text[i:])
			if !ok {
				return nil, errors.New("unbalanced " + string(c))
			}
			word.WriteString(quoted)
			i += n - 1
			open = true
		case '\\':
			if i++; i == len(text) {
				return nil, errors.New("backslash at the end")
			}
			if text[i] != '\n' {
				word.WriteByte(text[i])
				open = true
			}
		default:
			word.WriteByte(c)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words, nil
}

// unquote reads one quoted stretch at the start of text: its content, its
// length with both quotes, and whether the closing quote was there. Between
// double quotes a backslash protects only $ ` " \ and the end of line.
func unquote(text string) (content string, length int, ok bool) {
	var b strings.Builder
	quote := text[0]
	for i := 1; i < len(text); i++ {
		c := text[i]
		if c == quote {
			return b.String(), i + 1, true
		}
		if c == '\\' && quote == '"' && i+1 < len(text) && strings.IndexByte("$`\"\\\n", text[i+1]) >= 0 {
			i++
			if c = text[i]; c == '\n' {
				continue
			}
		}
		b.WriteByte(c)
	}
	return "", 0, false
}
