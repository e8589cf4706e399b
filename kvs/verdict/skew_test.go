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
	law := run.Nodes[2].Summary.Law
	law.Router, law.Heaviest = "fnv", 0.3
	law.Head = []metrics.HeadRecord{{Server: 1, Cell: 7, Share: 0.3, CellShare: 0.31}, {Server: 0, Cell: 9, Share: 0.1, CellShare: 0.1}, {Server: 0, Cell: 2, Share: 0.05, CellShare: 0.05}}
	run.Nodes[0].Summary.Seen.Busiest = []metrics.CellOps{{Cell: 9, Ops: 250}, {Cell: 3, Ops: 20}}
	run.Nodes[1].Summary.Seen.Groups = []uint64{100, 100} // a shorter window
	run.Nodes[1].Summary.Seen.Busiest = []metrics.CellOps{{Cell: 7, Ops: 120}}
	if v := Judge(run); !v.Valid {
		t.Fatal(v)
	}
	s := run.Skew
	want := []float64{0.6*0.5 - 0.01, 0.25 * 0.5, 0}
	for i, h := range s.Head {
		if math.Abs(h.Observed-want[i]) > 1e-9 || h.Theory != law.Head[i].Share || h.Rank != i+1 {
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
	if Judge(run); run.Skew != nil {
		t.Errorf("without a summary: %+v", run.Skew)
	}
	run = goodRun()
	run.Nodes[2].Summary.Law.Cells = nil // sequential
	if Judge(run); run.Skew == nil || run.Skew.TopShare != 0 || run.Skew.Head != nil || run.Skew.Servers != nil || len(run.Skew.Kinds) != 3 {
		t.Errorf("sequential: %+v", run.Skew)
	}
}
