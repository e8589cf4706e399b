package format

import "strings"

// CommandLine writes a command so that it may be pasted into a shell.
func CommandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = QuoteWord(word)
	}
	return strings.Join(quoted, " ")
}

// QuoteWord writes one word of a command so that it may be pasted into a shell.
func QuoteWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=+@%", r)
	}
	if word != "" && strings.TrimFunc(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
