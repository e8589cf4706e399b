package loadgen

import (
	"testing"

	"kvlab/workload"
)

// The parts are contiguous, cover all numbers, and differ in size by at most one.
func TestShare(t *testing.T) {
	for _, total := range []uint64{0, 1, 2, 63, 64, 65, 1_000_000, workload.MaxRecords} {
		for _, n := range []int{1, 2, 3, 7, 64, 1000, maxWorkers} {
			next, least := uint64(0), total/uint64(n)
			for i := range n {
				from, to := share(total, i, n)
				if from != next || to < from || to-from < least || to-from > least+1 {
					t.Fatalf("share(%d, %d, %d) = %d, %d after %d", total, i, n, from, to, next)
				}
				next = to
			}
			if next != total {
				t.Fatalf("%d parts of %d end at %d", n, total, next)
			}
		}
	}
}
