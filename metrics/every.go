package metrics

import (
	"context"
	"fmt"
	"time"
)

// Every calls tick at start+period, start+2*period, ..., start being the moment
// of its own call: ticks are late by the scheduler's delay, but the delays do
// not add up. Ticks that fall due while one is still running are skipped, not
// made up for. Every returns nil once ctx is done, or tick's first error.
func Every(ctx context.Context, period time.Duration, tick func() error) error {
	if period <= 0 {
		return fmt.Errorf("tick every %v: the period must be above 0", period)
	}
	start := time.Now()
	timer := time.NewTimer(period)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if ctx.Err() != nil {
			return nil
		}
		if err := tick(); err != nil {
			return err
		}
		passed := time.Since(start) / period
		timer.Reset(time.Until(start.Add((passed + 1) * period)))
	}
}
