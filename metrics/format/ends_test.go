package format

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A short text stays whole. Of a long one both ends stay, and what is between is counted.
func TestEnds(t *testing.T) {
	for _, n := range []int{0, 10, 1000, 100_000} {
		var e Ends
		var all, kept []string
		for i := range n {
			line := fmt.Sprintf("line %d %s", i, strings.Repeat("x", i%150))
			all = append(all, line)
			if e.Add(line) {
				kept = append(kept, line)
			}
		}
		rest := e.Rest()
		if n < 500 {
			if !slices.Equal(append(kept, rest...), all) {
				t.Errorf("%d lines: %d and %d stay", n, len(kept), len(rest))
			}
			continue
		}
		cut := 0
		if len(rest) > 0 && strings.HasPrefix(rest[0], "(") {
			var lines, bytes int
			if _, err := fmt.Sscanf(rest[0], "(%d lines, %d bytes", &lines, &bytes); err != nil {
				t.Fatalf("%q: %v", rest[0], err)
			}
			between := all[len(kept) : len(kept)+lines]
			if size := len(strings.Join(between, "\n")) + 1; size != bytes {
				t.Errorf("%d lines: %d bytes are counted, %d are left out", n, bytes, size)
			}
			cut, rest = lines, rest[1:]
		}
		if !slices.Equal(kept, all[:len(kept)]) || !slices.Equal(rest, all[len(kept)+cut:]) {
			t.Errorf("%d lines: the ends are others", n)
		}
		for _, end := range [][]string{kept, rest} {
			if size := len(strings.Join(end, "\n")); size > endBytes || n == 100_000 && size < endBytes-200 {
				t.Errorf("%d lines: an end has %d bytes", n, size)
			}
		}
	}
}
