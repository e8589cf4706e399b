package cli

import (
	"errors"
	"strings"
)

// SplitWords splits a command line into words by the
// quoting rules of a POSIX shell (Shell Command Language, 2.2), without variables, globs
// or command substitution. No shell runs, so quoted text reaches the node unchanged.
func SplitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	open := false // a word has begun, though it may still be empty
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		// Between double quotes a backslash escapes only $ ` " \ and the end of line.
		escapes := c == '\\' && (quote == 0 || quote == '"' && i+1 < len(text) && strings.IndexByte("$`\"\\\n", text[i+1]) >= 0)
		switch {
		case escapes && i+1 == len(text):
			return nil, errors.New("backslash at the end")
		case escapes:
			if i++; text[i] != '\n' {
				word.WriteByte(text[i])
				open = true
			}
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, open = c, true
		case quote == 0 && strings.IndexByte(" \t\n\r", c) >= 0:
			if open {
				words = append(words, word.String())
				word.Reset()
			}
			open = false
		default:
			word.WriteByte(c)
			open = true
		}
	}
	if quote != 0 {
		return nil, errors.New("unbalanced " + string(quote))
	}
	if open {
		words = append(words, word.String())
	}
	return words, nil
}
