package loadgen

import (
	"fmt"
	"time"

	"kvlab/metrics"
)

// classes are those of the flags of a made-up run.
var classes = metrics.FlagClasses{Of: map[string]metrics.FlagClass{"workers": metrics.WorkFlag}}

// accounted adds to a run of generators and services what their processes, and the launcher,
// tell of a run beside them. It bounds nothing.
func accounted(run *metrics.Run) {
	for i := range run.Nodes {
		node := &run.Nodes[i]
		s := node.Summary
		if node.Role == metrics.Server {
			node.Config = &metrics.Config{Classes: classes, Capabilities: &metrics.AllCapabilities}
			long := &metrics.Marks{Start: time.Unix(0, 0), AtS: []float64{0}, Ops: []uint64{0}}
			s.Opening, s.Closing = long, long
			continue
		}
		run.Latency = s.Latency
		for flag, value := range map[string]string{"workers": fmt.Sprint(len(s.Workers)), "call-timeout": "1000", "sample-every": "0"} {
			node.Config.Flags[flag] = value
		}
		s.Saturation = &metrics.Saturation{OwnCoresPercent: 100}
		node.Config.Classes = classes
		node.Heard = &metrics.Heard{WindowS: s.WindowLengthS, LengthS: s.WindowLengthS, Start: s.WindowStart, Ops: s.InWindow.Ops()}
	}
}
