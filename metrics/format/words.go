package format

import (
	"fmt"
	"slices"
	"strings"
)

// Plural returns a number of things: "1 server", "2 servers".
func Plural[N int | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// NonEmpty returns the words that are not empty.
func NonEmpty(words ...string) []string {
	return slices.DeleteFunc(words, func(word string) bool { return word == "" })
}

// OneLine joins a text's lines.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// LastLine returns the last line of a text that is not blank.
func LastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
