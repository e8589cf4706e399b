package node

import (
	"context"
	"runtime"
	"time"
)

// collect has the process collect its garbage each time that every has passed,
// until ctx ends. By itself a process may be minutes without a collection (two,
// at which the Go runtime makes one: forcegcperiod in its proc.go), and until the
// next nobody can tell a leak from garbage.
func collect(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			runtime.GC()
		}
	}
}
