package compare

import (
	"fmt"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/metrics/stats"
)

func TestCompareCosts(t *testing.T) {
	for _, test := range []struct {
		pairs  int
		factor float64
		want   string // of the servers
	}{
		{5, 1.05, "B costs more, by "},
		{5, 0.9, "B costs less, by "},
		{5, 1, "cannot tell apart: the interval holds 1"},
		{2, 2, "but with 2 pairs it has no interval, which needs 3"},
		{5, 0, "cannot tell: no pair of trials says what it used"},
	} {
		t.Run(fmt.Sprint(test.pairs, " pairs, ", test.factor), func(t *testing.T) {
			dir := foldertest.MakeSweep(t, t.TempDir(), foldertest.Together(test.pairs, test.factor))
			c, err := Variants(dir)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(c.String(), "\n")
			servers, clients := lines[len(lines)-2], lines[len(lines)-1]
			if !strings.HasPrefix(servers, "processor time per operation, servers: ") || !strings.Contains(servers, test.want) {
				t.Errorf("servers: %q, want %q", servers, test.want)
			}
			if !strings.HasPrefix(clients, "processor time per operation, clients: ") || !strings.Contains(clients, "cannot tell") {
				t.Errorf("clients: %q", clients)
			}
			if low, high := c.Results[0].RatioInterval(stats.TogetherConfidence); test.factor > 0 && test.pairs > 2 && (low > test.factor || high < test.factor) {
				t.Errorf("%v to %v misses %v", low, high, test.factor)
			}
			if len(c.Results) != 2 || c.Results[0].CostOf != metrics.Server || c.Results[1].CostOf != metrics.Client {
				t.Error("operations per second of trials at the same time were compared")
			}
		})
	}
}
