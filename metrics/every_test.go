package metrics

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The tests run on a clock of their own, which stands still while code runs: a
// tick that comes at another time than the schedule's is a fault of the loop.
func TestEveryKeepsItsSchedule(t *testing.T) {
	for _, tt := range []struct {
		name string
		work []time.Duration // how long each tick takes
		want []time.Duration // when it begins
	}{
		{"instant", make([]time.Duration, 4), []time.Duration{1000, 2000, 3000, 4000}},
		{"no drift", []time.Duration{300, 900, 1, 999}, []time.Duration{1000, 2000, 3000, 4000}},
		{"late ticks are skipped, not bunched", []time.Duration{3500, 10, 1000, 0}, []time.Duration{1000, 5000, 6000, 8000}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				start := time.Now()
				var got []time.Duration
				err := Every(ctx, time.Second, func() error {
					got = append(got, time.Since(start)/time.Millisecond)
					time.Sleep(tt.work[len(got)-1] * time.Millisecond)
					if len(got) == len(tt.work) {
						cancel()
					}
					return nil
				})
				if err != nil || !slices.Equal(got, tt.want) {
					t.Errorf("ticks at %v ms, %v, want %v", got, err, tt.want)
				}
			})
		})
	}
}

func TestEveryEnds(t *testing.T) {
	fault := errors.New("tick failed")
	if err := Every(t.Context(), time.Microsecond, func() error { return fault }); err != fault {
		t.Errorf("error %v, want the tick's", err)
	}
	if err := Every(t.Context(), 0, func() error { return nil }); err == nil {
		t.Error("a period of 0: no error")
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		time.AfterFunc(time.Minute, cancel)
		if err := Every(ctx, time.Hour, func() error { return fault }); err != nil {
			t.Errorf("error %v after the context ended, want nil", err)
		}
		if took := time.Since(start); took != time.Minute {
			t.Errorf("Every ended %v after it began, want 1m with its context", took)
		}
	})
}
