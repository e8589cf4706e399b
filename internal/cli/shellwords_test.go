package cli

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"kvlab/metrics/format"
)

func TestSplitWords(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"", nil},
		{" \t\n ", nil},
		{"-secs 5", []string{"-secs", "5"}},
		{"  -a  -b\n", []string{"-a", "-b"}},
		{`'a b' "c d" e\ f`, []string{"a b", "c d", "e f"}},
		{`'' "" x`, []string{"", "", "x"}},
		{`a'b'"c"d`, []string{"abcd"}},
		{`'it'\''s'`, []string{"it's"}},
		{`'\n' "\n"`, []string{`\n`, `\n`}},
		{`"\"\\\$" '$HOME' \;`, []string{`"\$`, "$HOME", ";"}},
		{"'a\nb'", []string{"a\nb"}},
		{"a\\\nb", []string{"ab"}},
		{"\"a\\\nb\"", []string{"ab"}},
		{"größe=ä", []string{"größe=ä"}},
	}
	for _, test := range tests {
		got, err := SplitWords(test.text)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("SplitWords(%q) = %q, %v; want %q", test.text, got, err, test.want)
		}
	}
}

func TestSplitWordsUnbalanced(t *testing.T) {
	for text, want := range map[string]string{
		`'a`: "unbalanced '", `a "b`: `unbalanced "`, `"a\"`: `unbalanced "`, `a\`: "backslash at the end",
	} {
		if got, err := SplitWords(text); err == nil || err.Error() != want {
			t.Errorf("SplitWords(%q) = %q, %v; want error %q", text, got, err, want)
		}
	}
}

// A real shell is the oracle: of words without expansions it makes the same.
func FuzzSplitWords(f *testing.F) {
	for _, seed := range []string{`a 'b c' "d"`, `x\ y`, `"\\" '\'`, `''"a"''`, `a\'b`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, err := SplitWords(text)
		// Expansions, comments, operators and ends of lines mean more to a shell.
		if err != nil || strings.ContainsAny(text, "$`#;&|<>()*?[]~{}!=\x00\r\n") || strings.ContainsFunc(text, func(r rune) bool { return r > '~' }) {
			return
		}
		script := "set -- " + text + `; for word do printf '%s\0' "$word"; done`
		out, err := exec.Command("sh", "-c", script).Output()
		if err != nil {
			t.Fatalf("sh -c %q: %v", script, err)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if len(out) == 0 {
			want = nil
		}
		if !slices.Equal(words, want) {
			t.Errorf("SplitWords(%q) = %q, sh says %q", text, words, want)
		}
	})
}

func TestQuoteWord(t *testing.T) {
	for _, word := range []string{"", "a", "-x=1", "a b", "it's", "$HOME", "a\nb", `"`, "*"} {
		got, err := SplitWords(format.QuoteWord(word))
		if err != nil || len(got) != 1 || got[0] != word {
			t.Errorf("quoteWord(%q) = %s, read back as %q, %v", word, format.QuoteWord(word), got, err)
		}
	}
}
