package trace

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"

	"kvlab/kvs/loadgen"
	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/trace"
)

// A trace of each format, and a public one, is replayed to its end in this process: as many
// operations of each kind are verified as it has, and each read finds what it must.
func TestReplayed(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			got, _, err := imported(t, f.write(f.ops(rand.New(rand.NewPCG(4, 4)), 3000)), f.format)
			if err != nil {
				t.Fatal(err)
			}
			replays(t, got)
		})
	}
	t.Run("gli", func(t *testing.T) {
		text, err := os.ReadFile(ristrettoTrace(t))
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := imported(t, string(text), "txt")
		if err != nil {
			t.Fatal(err)
		}
		replays(t, got)
	})
}

// replays replays a trace to its end.
func replays(t *testing.T, compiled *trace.Trace) {
	t.Helper()
	c := loadgen.DefaultConfig()
	c.Transport, c.Engine, c.Workers, c.Batch, c.WarmUp, c.Window = "inproc", "mutex", 3, 100, 0, 0
	c.Workload.Replay = compiled.Path
	if _, err := c.Workload.Resolve(); err != nil {
		t.Fatal(err)
	}
	g, err := loadgen.New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	ctx, enter := context.Background(), func(metrics.Phase) error { return nil }
	for _, step := range []func() error{
		func() error { return g.Connect(ctx) }, func() error { return g.Store(ctx) },
		func() error { return g.ReadBack(ctx) }, func() error { return g.Measure(ctx, enter) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	s := g.Summary()
	done := s.Peers[0].Drawn()
	if s.Verification.Failures > 0 {
		t.Fatal(s.Verification.First)
	}
	for kind := range workload.Kind(len(trace.KindNames())) {
		if n := done.ByKind()[kind]; n != compiled.Kinds[kind.String()] {
			t.Errorf("%d %ss, want %d", n, kind, compiled.Kinds[kind.String()])
		}
	}
}
