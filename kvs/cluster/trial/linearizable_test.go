package trial

import (
	"testing"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
	"kvlab/metrics/account"
)

// The slices are a bounded number, however long the run, and of bounded size,
// however many the clients. Where one of them does not check there are none.
func TestSlicePlan(t *testing.T) {
	tests := []struct {
		clients    int
		check      string
		secs       string
		everyAbout time.Duration
		ops        int
	}{
		{1, "true", "30", 0, 0},
		{2, "false", "30", 0, 0},
		{2, "true", "30", 2 * time.Second, 4096},
		{16, "true", "24h", 24 * time.Hour / 60, 4096},
		{64, "true", "30", 2 * time.Second, 1024},
	}
	for _, test := range tests {
		c := &Controller{Setup: Setup{Timeouts: DefaultTimeouts()}}
		for range test.clients {
			c.processes = append(c.processes, &process{Place: plan.Place{Role: metrics.Client}, Reported: account.Reported{Config: &metrics.Config{
				Flags: map[string]string{"linearizable": test.check, "secs": test.secs, "warmup": "5"},
			}}})
		}
		plan := c.slicePlan()
		if plan.Ops != test.ops || plan.Every.Round(time.Second) != test.everyAbout {
			t.Errorf("%d clients, -linearizable=%s, -secs %s: %+v", test.clients, test.check, test.secs, plan)
		}
		if test.ops > 0 && (plan.Count != 60 || (plan.Every+1)*60 < c.typedLength()) {
			t.Errorf("-secs %s: %+v ends before the run", test.secs, plan)
		}
	}
}
