package trial

import (
	"testing"

	"kvlab/metrics"
)

func TestCommonPhase(t *testing.T) {
	tests := []struct {
		phases []metrics.Phase
		want   metrics.Phase
	}{
		{[]metrics.Phase{metrics.WarmUp, metrics.WarmUp}, metrics.WarmUp},
		{[]metrics.Phase{metrics.WarmUp, metrics.Window}, metrics.WarmUp},
		{[]metrics.Phase{metrics.Window, metrics.Window}, metrics.Window},
		{[]metrics.Phase{metrics.Window, metrics.Drain}, metrics.Drain},
		{[]metrics.Phase{metrics.Drain, metrics.Drain}, metrics.Drain},
		{[]metrics.Phase{metrics.Idle, metrics.WarmUp}, metrics.Idle},
	}
	for _, test := range tests {
		var clients []*process
		for _, p := range test.phases {
			clients = append(clients, &process{phase: p})
		}
		if got := commonPhase(clients); got != test.want {
			t.Errorf("commonPhase(%v) = %s, want %s", test.phases, got, test.want)
		}
	}
}
