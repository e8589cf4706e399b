package cli

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// passwordMark begins what stands for a password that is hidden.
const passwordMark = "***"

// HiddenPassword returns what stands for a password: a mark for itself.
func HiddenPassword(password string) string {
	if strings.HasPrefix(password, passwordMark) {
		return password
	}
	return passwordMark
}

var (
	urlStart   = regexp.MustCompile(`[a-z][a-z0-9+.-]*://`)
	queryField = regexp.MustCompile(`([?&]password=)([^&\s'"]+)`)
)

// TokenPassword is the password that stands for a run's token: that of a foreign store which
// the run starts.
const TokenPassword = "{token}"

// HidePasswords replaces the passwords of the URLs in a command line's words, as in
// redis://user:password@host and redis://host?password=password, by marks, and returns
// the password of each mark. It leaves marks as they are.
func HidePasswords(words []string) (hidden []string, passwords map[string]string) {
	passwords = make(map[string]string)
	mark := func(password string, unescape func(string) (string, error)) string {
		if plain, err := unescape(password); err == nil {
			password = plain
		}
		if strings.HasPrefix(password, passwordMark) {
			return password // of a record
		}
		for mark, known := range passwords {
			if known == password {
				return mark
			}
		}
		mark := passwordMark
		if n := len(passwords); n > 0 {
			mark += strconv.Itoa(n + 1)
		}
		passwords[mark] = password
		return mark
	}
	hidden = slices.Clone(words)
	for i, word := range hidden {
		starts := append(urlStart.FindAllStringIndex(word, -1), []int{len(word), len(word)})
		text := word[:starts[0][0]]
		for k, start := range starts[:len(starts)-1] {
			rest, end := word[start[1]:starts[k+1][0]], ""
			if at := strings.IndexAny(rest, " \t\n'\""); at >= 0 {
				rest, end = rest[:at], rest[at:]
			}
			place, query, hasQuery := strings.Cut(rest, "?")
			at := max(strings.LastIndexByte(place, '@'), 0)
			if user, password, ok := strings.Cut(place[:at], ":"); ok && password != "" {
				place = user + ":" + mark(password, url.PathUnescape) + place[at:]
			}
			if hasQuery {
				place += queryField.ReplaceAllStringFunc("?"+query, func(field string) string {
					name, password, _ := strings.Cut(field, "=")
					password, comma := strings.CutSuffix(password, ",") // of a list of URLs
					field = name + "=" + mark(password, url.QueryUnescape)
					if comma {
						field += ","
					}
					return field
				})
			}
			text += word[start[0]:start[1]] + place + end
		}
		hidden[i] = text
	}
	return hidden, passwords
}

// HidePassword is HidePasswords of one text.
func HidePassword(text string) string {
	hidden, _ := HidePasswords([]string{text})
	return hidden[0]
}
