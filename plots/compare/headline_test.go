package compare

import (
	"regexp"
	"testing"

	"kvlab/internal/foldertest"
)

// The headline of a comparison is its answer, and beside it the ratio with its interval.
func TestHeadline(t *testing.T) {
	for name, test := range map[string]struct {
		plan            foldertest.SweepPlan
		headline, basis string
	}{
		"faster":   {foldertest.Sides(8, 1.1), `^B is faster, by [0-9.]+ to [0-9.]+ %$`, `^B/A is 1\.1[0-9]*, 95 % interval [0-9.]+ to [0-9.]+ \(the mean of 8 pairs\)$`},
		"the same": {foldertest.Sides(8, 1), `^cannot tell apart: the interval holds 1$`, `^B/A is `},
		"too few":  {foldertest.Sides(1, 1.1), `^cannot tell apart: B/A is [0-9.]+, but with 1 pair it has no interval, which needs [0-9]$`, `^$`},
		"together": {foldertest.Together(5, 1.05), `^B costs more, by [0-9.]+ to [0-9.]+ %$`, `^processor time per operation, servers: B/A is `},
	} {
		c, err := Variants(foldertest.MakeSweep(t, t.TempDir(), test.plan))
		if err != nil {
			t.Fatal(err)
		}
		if headline, basis := c.Headline(); !regexp.MustCompile(test.headline).MatchString(headline) || !regexp.MustCompile(test.basis).MatchString(basis) {
			t.Errorf("%s: headline %q, basis %q", name, headline, basis)
		}
	}
}
