package latency_test

import (
	"fmt"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/latency"
)

func ExampleRecorder() {
	collector, recorders := latency.NewCollector(1, 1) // one recorder for each worker
	for range 30 {
		recorders[0].Observe(&latency.Timing{Phase: metrics.Window, Call: 120 * time.Microsecond, Op: 150 * time.Microsecond, Ops: latency.Kinds{8192}})
	}
	if _, err := collector.Collect(0, 1); err != nil { // once a second
		fmt.Println(err)
	}
	call := collector.Window.Quantiles()[metrics.CallLatency]
	fmt.Println(call.Count, "calls: p90", *call.P90, "us; p99 known:", call.P99 != nil)
	// Output: 30 calls: p90 120 us; p99 known: false
}
