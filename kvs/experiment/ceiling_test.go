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
		client := metrics.Settings{"secs": window.String()}
		args := CeilingsOf(map[metrics.Role]metrics.Settings{metrics.Client: client}, 1)[0].Lengths()
		if got := args[len(args)-1]; got != want {
			t.Errorf("a window of %v gives %s, want %s", window, got, want)
		}
	}
}

// A ceiling below the result is measured again, in a longer window.
func TestCeilingAgain(t *testing.T) {
	null := CeilingsOf(map[metrics.Role]metrics.Settings{metrics.Client: {"secs": "6"}}, 1)[0]
	if got := strings.Join(null.Again(), " "); got != "-warmup=0.6 -secs=5" {
		t.Errorf("a second measurement has %s", got)
	}
}
