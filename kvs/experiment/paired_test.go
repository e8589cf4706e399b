package experiment

import (
	"testing"
	"time"

	"kvlab/metrics"
)

// Windows that lie apart are no pair's.
func TestCheckCommonWindow(t *testing.T) {
	begun := time.Now()
	at := func(after time.Duration, seconds float64) metrics.Run {
		return metrics.Run{WindowStart: begun.Add(after), WindowS: seconds}
	}
	for _, test := range []struct {
		a, b  metrics.Run
		valid bool
	}{
		{at(0, 10), at(0, 10), true},
		{at(0, 10), at(400*time.Millisecond, 10), true},
		{at(0, 10), at(-600*time.Millisecond, 10), false},
		{at(0, 10), at(time.Minute, 10), false},
		{at(0, 0), at(0, 10), true}, // its own verdict says why
	} {
		got := CheckCommonWindow(test.a, test.b)
		if got.Valid != test.valid || got.Valid != (got.Reason == "") {
			t.Errorf("%v and %v: %v", test.a.WindowStart.Sub(begun), test.b.WindowStart.Sub(begun), got)
		}
	}
}
