package trial

import (
	"strings"
	"testing"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
	"kvlab/metrics/account"
)

// A run is refused before its load if its calls cannot end in time: 64 workers with 8192
// values of 128 bytes for each of 2 servers put 134 MB in flight, half of them in one
// direction.
func TestLinkBatch(t *testing.T) {
	for _, test := range []struct {
		name     string
		bitsPerS uint64
		flags    string // beside the defaults
		want     string // "" for no fault
	}{
		{"a slow link", 40e6, "", "-workers 64 -batch 8192: a link of 0.04 Gb/s carries the 67 MB of 128 calls in 13 s at best, and -call-timeout is 10 s: want -batch 2048 or less"},
		{"a link that is fast enough", 60e6, "", ""},
		{"an unknown link", 0, "", ""},
		{"more time", 40e6, "call-timeout=20", ""},
		{"smaller batches", 40e6, "batch=3051", ""},
		{"calls with few bytes", 40e6, "batch-bytes=200000", ""},
		{"more rounds in flight", 60e6, "inflight=2", "in 18 s at best"},
		{"batches that adapt", 40e6, "batch=auto", ""},
		{"an open loop", 40e6, "rate=1k", ""},
		{"repeated values once", 40e6, "dedup=true", ""},
	} {
		flags := metrics.Settings{"workers": "64", "batch": "8192", "inflight": "1", "value-size": "128", "call-timeout": "10", "rate": "", "dedup": "false"}
		if name, value, ok := strings.Cut(test.flags, "="); ok {
			flags[name] = value
		}
		c := &Controller{Setup: Setup{Preflight: new(metrics.Preflight)}}
		for _, role := range []metrics.Role{metrics.Server, metrics.Server, metrics.Client} {
			place := plan.Place{Role: role}
			c.Plan.Places = append(c.Plan.Places, place)
			c.processes = append(c.processes, &process{Place: place, Reported: account.Reported{Config: &metrics.Config{Args: []string{"-batch", flags["batch"]}, Flags: flags}}})
			c.Preflight.Machines = append(c.Preflight.Machines, metrics.Machine{Facts: &metrics.Facts{Data: metrics.Link{BitsPerS: test.bitsPerS}}})
		}
		err := c.fitLink()
		if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}
