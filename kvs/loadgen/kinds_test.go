package loadgen

import (
	"slices"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/workload"
)

// slowPuts is an engine that takes 50 ms more for a batch with a Put.
type slowPuts struct{ kvs.Engine }

const putDelay = 50 * time.Millisecond

func (s slowPuts) Apply(ops []kvs.Op, reply *kvs.Reply) {
	if slices.ContainsFunc(ops, func(op kvs.Op) bool { return op.Kind == kvs.Put }) {
		time.Sleep(putDelay)
	}
	s.Engine.Apply(ops, reply)
}

// A store that delays Puts alone shows it in the latencies of Puts alone, if a call has one
// operation. In batches of both kinds, Gets have the time of the Puts beside them.
func TestLatencyByKind(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		batch int
		rate  float64
		alone bool
	}{
		"closed, one operation a call": {1, 0, true},
		"open, one operation a call":   {1, 40, true},
		"closed, batches":              {200, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(test.rate)
			c.Connections, c.Batch, c.Workload.Records, c.Workload.Workload = c.Workers, test.batch, 16, workload.YCSBA
			c.Hosts = []string{newStore(t, "server0", "binary", slowPuts{engine.NewMutex()}).addr}
			s, g := measured(t, c)
			checkLatencies(t, s)
			median := func(kind kvs.Kind) time.Duration { // also of a saturated run
				return time.Duration(g.Latency().Window.Kinds[kind].ValueAtQuantile(50)) * time.Microsecond
			}
			get, put := median(kvs.Get), median(kvs.Put) // a busy machine delays both
			if alone := put-get > putDelay/2; put < putDelay || alone != test.alone {
				t.Errorf("medians of gets %v, of puts %v, which are delayed by %v", get, put, putDelay)
			}
		})
	}
}
