package chart

import (
	"math"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/plots/folder"
)

// The links' limit of 4 servers and 4 clients with links of 10 Gb/s, 122 bytes to
// the client, by hand: 10e9/8 x 1448/1538 x 4 / 122.
func TestWireLimitOfPoint(t *testing.T) {
	s, err := folder.LoadSweep(foldertest.MakeSweep(t, t.TempDir(), foldertest.SweepPlan{ID: "s", Knobs: []metrics.Knob{foldertest.Knob("nodes", "8")}, Trials: 3, Law: foldertest.Law{1e6, 0, 0}, Gbps: 10, Seed: 1}))
	if err != nil {
		t.Fatal(err)
	}
	point := s.Points[0]
	if got, want := WireLimit(point), 10e9/8*1448/1538*4/122; math.Abs(got/want-1) > 1e-5 {
		t.Errorf("limit %v, want %v", got, want)
	}
	point.Run.Nodes[0].Summary.InWindow.Gets *= 2 // the shares are 2, 1, 1 and 1 of 5
	if got, want := WireLimit(point), 10e9/8*1448/1538*4/122*1.25/2; math.Abs(got/want-1) > 1e-5 {
		t.Errorf("limit with a busy server %v, want %v", got, want)
	}
	point.Run.Lab = &metrics.Lab{LinkBitsPerS: 1e9} // whose shaper counts 1514 bytes of a frame
	if got, want := WireLimit(point), 1e9/8*1448/1514*4/122*1.25/2; math.Abs(got/want-1) > 1e-5 {
		t.Errorf("limit in a virtual lab %v, want %v", got, want)
	}
	point.Run.Lab = nil
	for i := range point.Valid {
		point.Valid[i].LinkBitsPerS = 0
	}
	if got := WireLimit(point); got != 0 {
		t.Errorf("limit of links of unknown rate is %v", got)
	}
}
