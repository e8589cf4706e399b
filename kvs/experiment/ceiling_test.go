package experiment

import (
	"testing"
	"time"

	"kvlab/metrics"
)

func TestCeilingWindow(t *testing.T) {
	for window, want := range map[time.Duration]string{
		0: "-secs=0.5", 100 * time.Millisecond: "-secs=0.1", 5 * time.Second: "-secs=0.5", 8 * time.Second: "-secs=0.8", time.Hour: "-secs=1",
	} {
		client := metrics.FlagValues{"secs": window.String()}
		args := CeilingsOf(map[metrics.Role]metrics.FlagValues{metrics.Client: client}, 1)[0].Lengths
		if got := args[len(args)-1]; got != want {
			t.Errorf("a window of %v gives %s, want %s", window, got, want)
		}
	}
}
