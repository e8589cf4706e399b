package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"kvlab/metrics"
)

// lossy is a run of many packets with a number of calls in flight.
const (
	lossy = "-records 20000 -workers 8 -batch 512 -warmup 0.5 -secs 2"
	calls = 8
)

// losesMost reports whether such a run waits mainly for lost segments: its processors are
// not busy, and there are calls enough.
func losesMost(f metrics.BottleneckFigures) bool {
	return f.LostPercent >= 1 && max(f.ServerCPUPercent, f.ClientCPUPercent) < 90 && 2*runtime.NumCPU() <= calls
}

// dropPackets makes each host drop 1 or 5 % of the packets from the data network, at
// random.
func dropPackets(t *testing.T, s *scene) {
	percent := []int{1, 5}[s.random.IntN(2)]
	t.Logf("%d %% of packets are dropped", percent)
	rule := fmt.Sprintf("add table inet loss; add chain inet loss input { type filter hook input priority 0; }; "+
		"add rule inet loss input iifname eth1 numgen random mod 100 < %d drop", percent)
	for _, h := range []*host{s.server, s.client} {
		h.do(t, "nft", rule)
		s.mended(func() { h.do(t, "nft", "delete table inet loss") })
	}
}

// countsDespiteLoss checks that lost segments were sent again, and that the result counts
// them.
func countsDespiteLoss(t *testing.T, s *scene) {
	text, err := os.ReadFile(filepath.Join(s.out, "latest", "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var run metrics.Run
	if err := json.Unmarshal(text, &run); err != nil {
		t.Fatal(err)
	}
	if run.Ops == 0 || run.Total != run.Applied || run.Total.Misses != 0 {
		t.Errorf("%d operations in the window, verified %+v, applied %+v", run.Ops, run.Total, run.Applied)
	}
	b := run.Bottleneck
	if f := b.Figures; f.LostPercent <= 0 || !strings.Contains(b.Sentence, "sent again") || losesMost(f) && b.Kind != metrics.LimitRetransmits {
		t.Errorf("%.3f %% of segments sent again, and the result says: %s", f.LostPercent, b.Sentence)
	}
	t.Log(b.Sentence)
}
