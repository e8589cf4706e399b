package trial

import (
	"strings"
	"testing"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
)

// A soak, and a pair of trials at the same time, need the store's process.
func TestCheckSeen(t *testing.T) {
	for _, test := range []struct {
		unseen  string
		soak    time.Duration
		barrier *Barrier
		want    string
	}{
		{"it runs on another machine", time.Hour, nil, "--soak: nobody sees whether the store grows: it runs on another machine"},
		{"it runs on another machine", 0, new(Barrier), "--together compares the processor time of an operation, and nobody sees that of the store: it runs on another machine: want --ab alone"},
		{"it runs on another machine", 0, nil, ""},
		{"", time.Hour, new(Barrier), ""},
	} {
		m := &process{Place: plan.Place{Name: "node0", Role: metrics.Server}}
		m.Config = &metrics.Config{Capabilities: &metrics.Capabilities{Store: true, Driver: "redis", Unseen: test.unseen}}
		c := &Controller{Setup: Setup{Soak: test.soak, Barrier: test.barrier}, processes: []*process{m}}
		got := ""
		if err := c.checkSeen(); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%+v: %q", test, got)
		}
	}
}
