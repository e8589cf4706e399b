package workload_test

import (
	"testing"

	"kvlab/workload"
)

// The parts are contiguous, cover all numbers, and differ in size by at most one within a node.
func TestPart(t *testing.T) {
	for _, total := range []uint64{0, 1, 2, 63, 64, 65, 1_000_000, workload.MaxRecords} {
		for _, n := range [][2]int{{1, 1}, {1, 3}, {3, 1}, {2, 64}, {7, 1000}} {
			next := uint64(0)
			for node := range n[0] {
				least, most := total, uint64(0)
				for worker := range n[1] {
					place := workload.Place{Node: node, Nodes: n[0], Worker: worker, Workers: n[1]}
					from, to := place.Part(total)
					if from != next || to < from {
						t.Fatalf("%+v of %d: %d to %d after %d", place, total, from, to, next)
					}
					next, least, most = to, min(least, to-from), max(most, to-from)
				}
				if most > least+1 {
					t.Fatalf("node %d of %d: parts of %d to %d", node, n[0], least, most)
				}
			}
			if next != total {
				t.Fatalf("the parts of %d end at %d", total, next)
			}
		}
	}
}
