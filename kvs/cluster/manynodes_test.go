package cluster

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"kvlab/internal/fakenode"
	"kvlab/kvs/cluster/trial"
)

// runMany starts, synchronises and ends a run of simulated nodes, half
// of them servers: processes that only speak the control protocol.
func runMany(tb testing.TB, nodes int) *testRun {
	tb.Helper()
	tr := newTrial(tb)
	tr.timeouts = trial.DefaultTimeouts()
	var clients []string
	for i := nodes / 2; i < nodes; i++ {
		clients = append(clients, fmt.Sprintf("node%d", i))
	}
	half := fmt.Sprint(nodes / 2)
	err := tr.Run(context.Background(), []string{half, half, "-fake-clients " + strings.Join(clients, ","), "", "--local", "--out", tr.out})
	if err != nil {
		tb.Fatalf("%v\n%s%s", err, tr.stdout.String(), tr.stderr.String())
	}
	return tr
}

// Sixty-four nodes come to their end together, each with its counts, and are
// gone. The bound is a guard against a launcher that waits, not a speed.
func TestSixtyFourNodes(t *testing.T) {
	const nodes, guard = 64, 2 * time.Minute
	began := time.Now()
	tr := runMany(t, nodes)
	if took := time.Since(began); took > guard {
		t.Errorf("the run took %v", took)
	}
	tr.checkGone(t, nodes)
	if run := tr.runJSON(t); len(run.Nodes) != nodes || run.Total != run.Applied || run.Total.Gets != nodes/2*nodes/2*fakenode.Pair.Gets {
		t.Errorf("%d nodes, verified %+v, applied %+v", len(run.Nodes), run.Total, run.Applied)
	}
}

// BenchmarkLauncher measures what a run costs the launcher itself: processor
// time, and memory allocated, for each node. Both stay as they are when the
// launcher's cost grows with the number of nodes.
func BenchmarkLauncher(b *testing.B) {
	for _, nodes := range []int{8, 16, 32, 64} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			var before, after syscall.Rusage
			var memory [2]runtime.MemStats
			syscall.Getrusage(syscall.RUSAGE_SELF, &before)
			runtime.ReadMemStats(&memory[0])
			for b.Loop() {
				runMany(b, nodes)
			}
			syscall.Getrusage(syscall.RUSAGE_SELF, &after)
			runtime.ReadMemStats(&memory[1])
			used := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
			each := float64(b.N * nodes)
			b.ReportMetric(float64(used.Microseconds())/1e3/each, "cpu-ms/node")
			b.ReportMetric(float64(memory[1].TotalAlloc-memory[0].TotalAlloc)/1e3/each, "kB/node")
		})
	}
}
