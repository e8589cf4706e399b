package mutants

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
)

// honest are settings of runs without a mutant: of the launcher, and of the clients.
var honest = []mutant{
	{},
	{client: "-batch 2048 -workload YCSB-A"},
	{client: "-batch 1 -workload YCSB-F"},
	{client: "-batch auto"},
	{client: "-inflight 4 -distribution uniform"},
	{client: "-rate 20k"},
	{client: "-rate 5k -arrivals constant -batch 16"},
	{client: "-linearizable -workload YCSB-A"},
	{client: "-scramble -router balanced", args: "2 2"},
	{client: "-linearizable -workload YCSB-F", args: "2 2"},
	{client: "-workload YCSB-D", args: "2 1"},
	{client: "-workload YCSB-E -batch 16", args: "--server-args -engine=btree 2 1"},
	{client: "-distribution scrambled -value-size 24-1024", args: "--server-args -engine=slab"},
	{client: "-value-size etc -key-size etc -workload YCSB-A"},
	{client: "-workload YCSB-A -retry" + cached},
	{client: deleting + cached, args: "--server-args -engine=slab 2 2"},
	{client: "-cache 2MiB -inflight 4 -scramble"},
	{client: "-workload mix -reads 0.5 -inserts 0.1 -deletes 0.1 -linearizable"},
}

// TestHonest accuses none of 500 runs of 3 s of the programs without a mutant, half of
// them beside two busy loops.
func TestHonest(t *testing.T) {
	if os.Getenv("KVLAB_LONG") != "1" {
		t.Skip("KVLAB_LONG=1 runs it: an hour")
	}
	root := mutate(t, nil)
	for run := range 500 {
		busy := run/len(honest)%2 == 1
		t.Run(fmt.Sprintf("run %d, busy %v, %+v", run, busy, honest[run%len(honest)]), func(t *testing.T) {
			if busy {
				defer keepBusy()()
			}
			if verdict := verdictOf(t, root, honest[run%len(honest)], run+1); !verdict.Valid {
				t.Errorf("%s", verdict)
			}
		})
	}
}

// keepBusy computes in two goroutines until stop is called.
func keepBusy() (stop func()) {
	done := make(chan struct{})
	for range 2 {
		go func() {
			for random := rand.New(rand.NewPCG(1, 2)); ; {
				select {
				case <-done:
					return
				default:
					for range 1 << 16 {
						random.Uint64()
					}
				}
			}
		}()
	}
	return func() { close(done) }
}
