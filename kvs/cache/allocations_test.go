//go:build !race

package cache_test

import (
	"fmt"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/cache"
)

// A call allocates as much as one without a cache, however many operations it has: one
// thing, net/rpc's own rpc.Call. The race detector would empty pools.
func TestCallAllocations(t *testing.T) {
	for _, size := range []int{1, 300} {
		c := cache.NewStore(1000, 128).Over(serve(t, "slab")(cached)) // the engine writes without an allocation
		var ops []kvs.Op
		for i := range size {
			key := fmt.Appendf(nil, "%s%d", []string{"", "user"}[i%2], i)
			ops = append(ops, kvs.Op{Kind: kvs.Get, Key: key}, kvs.Op{Kind: kvs.Put, Key: key, Value: make([]byte, 128)}, kvs.Op{Kind: kvs.Get, Key: key})
		}
		call := newCall(ops)
		one := func() {
			c.Send(call)
			if err := c.Wait(call); err != nil {
				t.Error(err)
			}
			call.Reply.Free()
		}
		one() // its memory is made once
		if n := testing.AllocsPerRun(100, one); n > 1 {
			t.Errorf("a call of %d operations allocates %v times, want once", len(ops), n)
		}
	}
}
