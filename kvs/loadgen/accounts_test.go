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
	run.Asked = map[metrics.Role]metrics.Settings{metrics.Server: {}, metrics.Client: {}}
	for i := range run.Nodes {
		node := &run.Nodes[i]
		s := node.Summary
		for hours := range time.Duration(2) {
			at := time.Unix(0, 0).Add(hours * time.Hour)
			node.Readings = append(node.Readings, metrics.Reading{Asked: at, Answered: at, Node: at, WindowNs: at.UnixNano() + 1})
		}
		if node.Role == metrics.Server {
			node.Config = &metrics.Config{Classes: classes, Capabilities: &metrics.AllCapabilities}
			long := &metrics.Marks{Start: time.Unix(0, 0), AtS: []float64{0}, Ops: []uint64{0}}
			s.Opening, s.Closing, s.Saturation = long, long, new(metrics.Saturation)
			second := metrics.Second{LengthS: s.WindowLengthS, Ops: s.InWindow.Ops()}
			node.Heard = &metrics.Heard{LengthS: second.LengthS, Ops: second.Ops, Seconds: []metrics.Second{second}}
			node.MedianOpsPerS = new(metrics.PerSecond(float64(second.Ops), second.LengthS))
			continue
		}
		run.Latency, run.Window = s.Latency, &metrics.WindowLength{UsedS: s.WindowLengthS}
		for flag, value := range map[string]string{"workers": fmt.Sprint(len(s.Workers)), "call-timeout": "1000", "sample-every": "0"} {
			node.Config.Flags[flag] = value
		}
		s.Saturation = &metrics.Saturation{OwnCoresPercent: 100}
		node.Config.Classes = classes
		node.Heard = &metrics.Heard{LengthS: s.WindowLengthS, Start: s.WindowStart, Ops: s.InWindow.Ops()}
	}
}
