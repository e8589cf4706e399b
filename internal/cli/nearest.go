package cli

import (
	"flag"
	"fmt"
	"strings"
	"time"
)

// nearest returns the choice that differs from a word by the fewest changed, added or
// missing letters, two at most, or else one that ends with a dash and the word; "" without
// one.
func nearest(word string, choices []string) string {
	for edits := range min(3, len(word)) {
		for _, choice := range choices {
			if within(edits, strings.ToLower(word), strings.ToLower(choice)) {
				return choice
			}
		}
	}
	for _, choice := range choices {
		if word != "" && strings.HasSuffix(strings.ToLower(choice), "-"+strings.ToLower(word)) {
			return choice
		}
	}
	return ""
}

// within reports whether edits changed, added or missing letters turn a into b.
func within(edits int, a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	if a == b || edits == 0 {
		return a == b
	}
	return b != "" && within(edits-1, a, b[1:]) || a != "" && within(edits-1, a[1:], b) ||
		a != "" && b != "" && within(edits-1, a[1:], b[1:])
}

// DidYouMean returns "; did you mean X?" for the nearest choice; "" without one.
func DidYouMean(word, dashes string, choices []string) string {
	near := nearest(word, choices)
	if near == "" {
		return ""
	}
	return "; did you mean " + dashes + near + "?"
}

// UnknownFlag returns an error that names the flag that flags does not have, and what to use
// in its place, if err, of flags.Parse, is about such a one. theirs maps the names that
// others have for flags to what they are here: a flag, with one dash, comes first. dashes are
// what people type in front.
func UnknownFlag(err error, flags *flag.FlagSet, dashes string, theirs map[string]string) error {
	_, name, ok := strings.Cut(err.Error(), "provided but not defined: -")
	if !ok {
		return nil
	}
	name = strings.TrimPrefix(name, "-")
	typed := dashes + name
	if len(name) == 1 {
		typed = "-" + name
	}
	if right, ok := theirs[name]; ok {
		if flag, single := strings.CutPrefix(right, "-"); single && flag[0] != '-' {
			right = dashes + flag
		}
		return fmt.Errorf("%s: unknown flag; use %s", typed, right)
	}
	var choices []string
	flags.VisitAll(func(f *flag.Flag) { choices = append(choices, f.Name) })
	return fmt.Errorf("%s: unknown flag%s", typed, DidYouMean(name, dashes, choices))
}

// WrongValue says what a flag's value must be where err, of flags.Parse, says only
// "parse error".
func WrongValue(err error, flags *flag.FlagSet) error {
	text, ok := strings.CutSuffix(err.Error(), ": parse error")
	if !ok {
		return err
	}
	want := "a number"
	// Only the flag package's own types say "parse error", and all of them are Getters.
	switch flags.Lookup(text[strings.LastIndex(text, " -")+2:]).Value.(flag.Getter).Get().(type) {
	case int, int64, uint, uint64:
		want = "a whole number"
	case bool:
		want = "true or false"
	case time.Duration:
		want = "a time such as 500ms or 2s"
	}
	return fmt.Errorf("%s: want %s", text, want)
}
