package metrics_test

import (
	"fmt"
	"strings"

	"kvlab/metrics"
)

func ExampleReadRecords() {
	const file = `{"node":"node1","role":"client","time":"2026-11-21T15:30:00Z","interval":{"phase":"window","length_s":0.5,"counts":{"gets":95,"puts":5}}}
{"node":"node1","role":"client","time":"2026-11-21T15:30:01Z","inter`
	for r, err := range metrics.ReadRecords("kvsclient-node1.jsonl", strings.NewReader(file)) {
		switch {
		case err != nil:
			fmt.Println(err)
		case r.Interval != nil:
			fmt.Println(r.Interval.Phase, r.Interval.OpsPerS())
		}
	}
	// Output:
	// window 200
	// kvsclient-node1.jsonl:2: record cut short at the end of the file
}
