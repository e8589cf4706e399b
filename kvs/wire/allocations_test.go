//go:build !race

package wire

import (
	"fmt"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// TestCallAllocations counts what a call of Gets allocates on both sides
// together, however many they are. All of it is net/rpc's and reflect's own: of
// the client the rpc.Call, of the server a mutex, and a slice and an interface
// for what the method returns. The race detector would empty pools.
func TestCallAllocations(t *testing.T) {
	const libraries = 4
	for _, size := range []int{1, 1000} {
		id := Identity{Node: "node0", Codec: "binary"}
		client := startServer(t, id, engine.NewMutex()).dial(t, id)
		var load, batch kvs.Batch
		for i := range size {
			key := fmt.Appendf(nil, "user%d", i)
			load.Append(kvs.Put, key, make([]byte, 128))
			batch.Get(key)
		}
		if _, err := call(client, &load); err != nil {
			t.Fatal(err)
		}
		one := kvs.Call{Batch: &batch, Reply: new(kvs.Reply)}
		n := testing.AllocsPerRun(500, func() {
			client.Send(&one)
			if err := client.Wait(&one); err != nil {
				t.Error(err)
			}
			one.Reply.Free()
		})
		if n > libraries {
			t.Errorf("a call of %d operations allocates %v times, want %d", size, n, libraries)
		}
	}
}
