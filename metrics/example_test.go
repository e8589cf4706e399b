package metrics_test

import (
	"fmt"
	"strings"

	"kvlab/metrics"
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
