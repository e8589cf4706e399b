package plan

import (
	"reflect"
	"testing"
)

// A flag's value is joined or the next word, the last one counts, and a flag that had another
// name is the same flag.
func TestArgs(t *testing.T) {
	args := []string{"-rate", "5k", "word", "--rate=6k", "-secs", "-1", "-check=true", "rate"}
	if got, want := Without(args, "rate", "secs"), []string{"word", "-check=true", "rate"}; !reflect.DeepEqual(got, want) {
		t.Errorf("Without = %q, want %q", got, want)
	}
	if got := Without([]string{"-rate"}, "rate"); len(got) != 0 {
		t.Errorf("a flag without its value: %q", got)
	}
	for flag, want := range map[string]string{"rate": "6k", "secs": "-1", "linearizable": "true", "word": "", "batch": ""} {
		if got := ValueOf(args, flag); got != want || HasFlag(args, flag) != (want != "") {
			t.Errorf("-%s is %q, want %q", flag, got, want)
		}
	}
	if got, want := With([]string{"-batch", "8", "-batch=9", "x"}, "batch", "10"), []string{"x", "-batch=10"}; !reflect.DeepEqual(got, want) {
		t.Errorf("With = %q, want %q", got, want)
	}
	if those, rest := Part([]string{"--local", "2", "-v"}, "local"); len(those) != 1 || len(rest) != 2 {
		t.Errorf("a flag without a value took the next word: %q and %q", those, rest)
	}
}
