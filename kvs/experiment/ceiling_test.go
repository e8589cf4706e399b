package experiment

import (
	"testing"
	"time"
)

func TestCeilingWindow(t *testing.T) {
	for window, want := range map[time.Duration]string{
		0: "-secs=0.5", 100 * time.Millisecond: "-secs=0.1", 5 * time.Second: "-secs=0.5", 8 * time.Second: "-secs=0.8", time.Hour: "-secs=1",
	} {
		args := (Work{Servers: 1, Window: window}).Ceilings()[0].Lengths
		if got := args[len(args)-1]; got != want {
			t.Errorf("a window of %v gives %s, want %s", window, got, want)
		}
	}
}
