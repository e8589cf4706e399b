package cluster

import (
	"errors"
	"strings"
)

// splitWords splits the text of --server-args or --client-args into arguments by the
// quoting rules of a POSIX shell (Shell Command Language, 2.2), without variables, globs
// or command substitution. No shell runs, so quoted text reaches the node unchanged.
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

// unquote parses a quoted string at the start of text. It returns the content, the
// length with both quotes, and whether the closing quote exists. Between double quotes a
// backslash escapes only $ ` " \ and the end of line.
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
