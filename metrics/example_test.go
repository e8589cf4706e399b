package metrics_test

import (
	"fmt"
	"strings"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

func ExampleReader() {
	const file = `{"node":"node1","role":"client","time":"2026-11-21T15:30:00Z","interval":{"phase":"window","length_s":0.5,"counts":{"gets":95,"puts":5}}}
{"node":"node1","role":"client","time":"2026-11-21T15:30:01Z","inter`
	r := metrics.NewReader("kvsclient-node1.jsonl", strings.NewReader(file))
	for r.Scan() {
		if i := r.Record().Interval; i != nil {
			fmt.Println(i.Phase, i.OpsPerS())
		}
	}
	fmt.Println(r.Err())
	// Output:
	// window 200
	// kvsclient-node1.jsonl:2: record cut short at the end of the file
}

func ExampleRecorder() {
	latency, recorders := metrics.NewLatency(1) // one recorder for each worker
	for range 30 {
		recorders[0].Observe(metrics.Timing{Phase: metrics.Window, Call: 120 * time.Microsecond, Op: 150 * time.Microsecond, Ops: 8192})
	}
	if _, err := latency.Collect(0, 1); err != nil { // once a second
		fmt.Println(err)
	}
	call := latency.Quantiles()[metrics.CallLatency]
	fmt.Println(call.Count, "calls: p90", *call.P90, "us; p99 known:", call.P99 != nil)
	// Output: 30 calls: p90 120 us; p99 known: false
}

func ExampleCount() {
	fmt.Println(format.Count(25_948_794), format.Count(258_944), format.Count(0.5))
	// Output: 25.9M 259k 0.5
}
