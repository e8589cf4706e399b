package prefetch

import (
	"maps"
	"strings"
	"testing"
)

// TestFetch fetches from lists of all lengths, of addresses that exist and
// addresses that do not: nothing happens, and the list is empty.
func TestFetch(t *testing.T) {
	words := make([]uint64, 4*listLen)
	for n := range 2*listLen + 2 {
		var l List
		for i := range n {
			Add(&l, &words[i])
		}
		if want := min(n, (n-1)%listLen+1); n > 0 && l.n != want {
			t.Errorf("%d lines added: %d wait, want %d", n, l.n, want)
		}
		l.add(8) // no such page
		l.Fetch()
		if l.n != 0 {
			t.Errorf("%d lines wait after Fetch", l.n)
		}
	}
}

// TestAddRange holds the lines of a range against those that its bytes lie in, in an empty
// list and in one that is nearly full.
func TestAddRange(t *testing.T) {
	// Not on the stack, which moves when it grows, and every address with it.
	bytes := []byte(strings.Repeat("x", 4096))
	for _, r := range [][2]int{{0, 1}, {1, 63}, {0, 64}, {0, 65}, {63, 2}, {5, 200}, {64, 640}} {
		want := map[uintptr]bool{}
		for i := r[0]; i < r[0]+r[1]; i++ {
			var one List
			Add(&one, &bytes[i])
			want[one.lines[0]/Line] = true
		}
		for _, before := range []int{0, listLen - max(len(want), short), listLen - len(want)} {
			l, left := List{n: before}, maps.Clone(want)
			AddRange(&l, &bytes[r[0]], r[1])
			for _, line := range l.lines[before:l.n] {
				if !left[line/Line] {
					t.Errorf("range %v after %d lines: line %x is not part of it", r, before, line)
				}
				delete(left, line/Line)
			}
			if len(left) != 0 {
				t.Errorf("range %v after %d lines: %d lines are missing", r, before, len(left))
			}
		}
	}
}
