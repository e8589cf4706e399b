package loadgen

import (
	"fmt"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/wire"
	"kvlab/workload"
)

// The parts follow each other without a gap, are everything, and differ by one
// at most.
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

// Servers are told what they will store, once by each client.
func TestServersAreTold(t *testing.T) {
	c := small()
	c.KeyPrefix, c.Clients = "user", 2
	heard := make(chan kvs.Expected, 100)
	for i := range 2 {
		id := wire.Identity{Node: fmt.Sprint("server", i), Codec: c.Codec, Prepare: func(x kvs.Expected) time.Duration {
			heard <- x
			return time.Duration(i+1) * time.Second
		}}
		c.Hosts = append(c.Hosts[:i:i], serve(t, kvs.NewService(engine.NewMutex()), id))
	}
	if g := connected(t, c); g.Prepared() != 2*time.Second {
		t.Errorf("the slower server took %v, want 2s", g.Prepared())
	}
	want := kvs.Expected{Records: 1501, KeyBytes: len("user3000"), ValueBytes: 100}
	for range c.Hosts {
		if x := <-heard; x != want {
			t.Errorf("a server was told %+v, want %+v", x, want)
		}
	}
	if len(heard) > 0 {
		t.Errorf("a server was told %d times more", len(heard))
	}
}
