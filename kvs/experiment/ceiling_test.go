package experiment

import (
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
)

func TestCeilingWindow(t *testing.T) {
	for window, want := range map[time.Duration]string{
		0: "-secs=0.5", 100 * time.Millisecond: "-secs=0.1", 5 * time.Second: "-secs=0.5", 8 * time.Second: "-secs=0.8", time.Hour: "-secs=1",
	} {
		client := metrics.FlagValues{"secs": window.String()}
		args := CeilingsOf(map[metrics.Role]metrics.FlagValues{metrics.Client: client}, 1)[0].Lengths(0)
		if got := args[len(args)-1]; got != want {
			t.Errorf("a window of %v gives %s, want %s", window, got, want)
		}
	}
}

// A ceiling's lengths follow its own calls.
func TestCeilingOfLongCalls(t *testing.T) {
	null := CeilingsOf(map[metrics.Role]metrics.FlagValues{metrics.Client: {"secs": "6"}}, 1)[0]
	run := func(callS float64, ops uint64) metrics.Run {
		return metrics.Run{Ops: ops, Latency: map[string]metrics.Quantiles{metrics.CallLatency: {Mean: 1e6 * callS}}}
	}
	for _, test := range []struct {
		run  metrics.Run
		want string
	}{
		{run(0.05, 1000), ""},
		{run(0.5, 1000), "-warmup=1 -secs=5"},
		{run(0.1, 1000), "-warmup=0.3 -secs=1"},
		{run(0, 0), "-warmup=1.2 -secs=6"},
		{metrics.Run{Ops: 1000}, ""}, // it does not say how long its calls are
	} {
		got := ""
		if call := null.LongCalls(test.run); call > 0 {
			got = strings.Join(null.Lengths(call), " ")
		}
		if got != test.want {
			t.Errorf("calls of %v us and %d operations give %q, want %q", test.run.Latency, test.run.Ops, got, test.want)
		}
	}
	if got := strings.Join(null.Again(), " "); got != "-warmup=0.6 -secs=5" {
		t.Errorf("a second measurement has %s", got)
	}
}
