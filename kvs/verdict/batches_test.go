package verdict

import (
	"kvlab/metrics"
	"testing"
)

// With -batch-bytes a round has at most -batch operations for each server.
func TestBatchesOfBytes(t *testing.T) {
	for ops, valid := range map[uint64]bool{250: true, 2500: true, 2501: false} {
		run := witnessed()
		run.Workload["batch-bytes"] = "4096"
		s := run.Nodes[1].Summary
		s.Workers = s.Workers[:1]
		*s.Workers[0].Rounds = metrics.Rounds{Ops: ops, Rounds: 250, Calls: 250}
		if v := run.made(rows("batches")); v.Valid != valid {
			t.Errorf("%d operations in 250 rounds of at most 10: %s", ops, v)
		}
	}
}

// A round that needs fewer calls than servers makes as many as its keys' owners.
func TestBatchesOfFewKeys(t *testing.T) {
	for calls, valid := range map[uint64]bool{684: true, 700: true, 800: false, 1000: false} {
		run := witnessed()
		run.Workload["batch"] = "1"
		run.expected.cells = [][]float64{{0.25}, {0.25}, {0.25}, {0.25}}
		run.Nodes = append(run.Nodes, run.Nodes[0], run.Nodes[0], run.Nodes[0])
		s := run.Nodes[1].Summary
		s.Workers = s.Workers[:1]
		*s.Workers[0].Rounds = metrics.Rounds{Ops: 1000, Rounds: 250, Calls: calls}
		if v := run.made(rows("batches")); v.Valid != valid {
			t.Errorf("%d calls of 250 rounds of 4 operations to 4 servers: %s", calls, v)
		}
	}
}
