package cluster

import (
	"testing"

	"kvlab/metrics"
)

// A soak's report has a line for each process, and a run that is none has no line.
func TestSoakText(t *testing.T) {
	held := new(metrics.Soak)
	run := metrics.Run{Nodes: []metrics.RunNode{{Name: "s0", Role: metrics.Server, Soak: held}, {Name: "c0", Role: metrics.Client}}}
	if got, want := soakText(run), "soak server s0: "+held.String()+"\n\n"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if got := soakText(metrics.Run{Nodes: []metrics.RunNode{{}}}); got != "" {
		t.Errorf("a run that is no soak says %q", got)
	}
}
