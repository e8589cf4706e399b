package loadgen

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"kvlab/kvs/engine"
	"kvlab/metrics"
	"kvlab/workload"
)

// checked returns a run whose operations are recorded.
func checked() Config {
	c := brief()
	c.Linearizable, c.Workers, c.Workload.Records, c.Window = true, 8, 16, 40*time.Millisecond // twice a slice
	return c
}

// A correct store is linearizable with small and large batches, several rounds under
// way, read-modify-writes, and two clients of which neither records the other's writes.
// Every engine runs with one batch and one mix, and with KVLAB_LONG=1 with each pair
// of them.
func TestCheckOfRightStore(t *testing.T) {
	for i, name := range engine.Names {
		for j, batch := range []int{1, 600} { // 600 is more than the server decodes at a time
			for k, mix := range []string{workload.YCSBA, workload.YCSBF} {
				if (j != i/2%2 || k != i%2) && !long() {
					continue
				}
				t.Run(fmt.Sprintf("%s %d %s", name, batch, mix), func(t *testing.T) {
					c := checked()
					c.Batch, c.Workload.Workload, c.Clients, c.InFlight, c.Engine = batch, mix, 2, 2, name
					_, clients, summaries := runOnStores(t, c, 1)
					for i, s := range summaries {
						t.Log(s.Check.Text())
						if s.Check.Fault() != "" || clients[i].Violation() != nil {
							t.Errorf("%s %s", s.Check.Text(), s.Check.Fault())
						}
					}
				})
			}
		}
	}
}

// A client without operations on the recorded keys has checked nothing.
func TestCheckOfNothing(t *testing.T) {
	if fault := (metrics.Check{Keys: 16}).Fault(); !strings.Contains(fault, "no operation") {
		t.Errorf("fault %q", fault)
	}
}

// With several rounds under way, slow replies and a cut connection, no operation is
// missing whose effect a recorded one may see.
func TestCheckBesideFault(t *testing.T) {
	c := checked()
	c.InFlight, c.Batch, c.Window = 4, 50, untilCut
	s := newStore(t, "server0", c.Codec, engine.NewMutex())
	c.Hosts = []string{s.addr}
	g := connected(t, c)
	if err := g.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	// Cut after many recorded operations, independent of the machine's speed.
	enough := g.Counts().Ops() + 20_000
	ended := make(chan error, 1)
	go func() { ended <- g.Measure(context.Background(), func(metrics.Phase) error { return nil }) }()
	eventually(t, "enough operations", func() bool { return g.Counts().Ops() >= enough })
	s.Cut()
	if err := within(t, "Measure", func() error { return <-ended }); err == nil {
		t.Error("a run whose connections were cut ends well")
	}
	found := g.Summary().Check
	if found.Fault() != "" {
		t.Errorf("%s %s", found.Text(), found.Fault())
	}
}
