package account

import (
	"testing"
	"time"

	"kvlab/metrics"
)

// TestSecondConfig: a process that reports its configuration again, because a flag has another
// value now, goes on; the one that takes the place of a killed one begins anew.
func TestSecondConfig(t *testing.T) {
	for _, killed := range []bool{false, true} {
		var n Reported
		records := []metrics.Record{
			{Config: &metrics.Config{Flags: metrics.Settings{"batch": "8"}}},
			{Interval: &metrics.Interval{Phase: metrics.Load, LengthS: 1, Counts: metrics.Counts{Puts: 5}}},
		}
		if killed {
			records = append(records, metrics.Record{Arrival: &metrics.Arrival{Event: metrics.Killed}, Time: time.Unix(1, 0)})
		}
		second, start := metrics.Record{Config: &metrics.Config{Flags: metrics.Settings{"batch": "4"}}}, 1.0
		want := metrics.Counts{Puts: 12}
		if killed {
			start, want = 0, metrics.Counts{Puts: 7}
		}
		for _, r := range append(records, second, metrics.Record{Interval: &metrics.Interval{Phase: metrics.WarmUp, StartS: start, LengthS: 1, Counts: metrics.Counts{Puts: 7}}}) {
			n.Add(r)
		}
		if n.Counts != want || n.Broken || n.Config.Flags.Batch() != 4 {
			t.Errorf("killed %t: %+v, broken %t, batch %d; want %+v, false, 4", killed, n.Counts, n.Broken, n.Config.Flags.Batch(), want)
		}
	}
}
