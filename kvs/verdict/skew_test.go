package verdict

import (
	"math"
	"testing"

	"kvlab/metrics"
)

// The head's shares come of the servers' samples, weighed by what each server
// had, without what else is in the records' cells.
func TestSkewOf(t *testing.T) {
	run := goodRun()
	e := run.expected
	e.Router, e.TopShare = "fnv", 0.3
	e.top = []topRecord{{server: 1, cell: 7, share: 0.3, cellShare: 0.31}, {server: 0, cell: 9, share: 0.1, cellShare: 0.1}, {server: 0, cell: 2, share: 0.05, cellShare: 0.05}}
	run.Nodes[0].Summary.Seen.Busiest = []metrics.CellOps{{Cell: 9, Ops: 250}, {Cell: 3, Ops: 20}}
	run.Nodes[1].Summary.Seen.Groups = []uint64{100, 100} // a shorter window
	run.Nodes[1].Summary.Seen.Busiest = []metrics.CellOps{{Cell: 7, Ops: 120}}
	if v := run.verdict(); !v.Valid {
		t.Fatal(v)
	}
	s := run.Skew
	want := []float64{0.6*0.5 - 0.01, 0.25 * 0.5, 0}
	for i, h := range s.Head {
		if math.Abs(h.Observed-want[i]) > 1e-9 || h.Theory != e.top[i].share || h.Rank != i+1 {
			t.Errorf("head %+v, want %v observed", h, want[i])
		}
	}
	if s.SampledOps != 1200 || s.TopShare != 0.3 || s.Router != "fnv" || s.HitRate != 1 || len(s.Head) != 3 {
		t.Errorf("skew %+v", s)
	}
	if s.Servers[0] != (metrics.ServerShare{Server: "s0", Share: metrics.Share{Theory: 0.5, Observed: 0.5}}) {
		t.Errorf("servers %+v", s.Servers)
	}
	if k := s.Kinds[1]; k.Kind != "puts" || k.Theory != 0.05 || math.Abs(k.Observed-18/404.0) > 1e-9 {
		t.Errorf("kinds %+v", s.Kinds)
	}
}

// What has not been reported is not shown.
func TestSkewOfLess(t *testing.T) {
	run := goodRun()
	run.Nodes[3].Summary = nil
	if run.verdict(); run.Skew != nil {
		t.Errorf("without a summary: %+v", run.Skew)
	}
	run = goodRun()
	run.expected.cells, run.expected.TopShare = nil, 0 // sequential
	if run.verdict(); run.Skew == nil || run.Skew.TopShare != 0 || run.Skew.Head != nil || run.Skew.Servers != nil || len(run.Skew.Kinds) != 3 {
		t.Errorf("sequential: %+v", run.Skew)
	}
}
