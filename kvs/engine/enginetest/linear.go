package enginetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
)

// register is the sequential model of one key: its state is the outcome of a Get.
// Histories are partitioned by key, because linearizability is local (Herlihy and Wing,
// "Linearizability: a correctness condition for concurrent objects", TOPLAS 1990, section
// 3.1).
var register = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, o := range history {
			key := o.Input.(op).key
			byKey[key] = append(byKey[key], o)
		}
		return slices.Collect(maps.Values(byKey))
	},
	Init: func() any { return missing },
	Step: func(state, input, output any) (bool, any) {
		result, after := input.(op).step(state.(outcome))
		return output == result, after
	},
}

// checkHistory returns an error unless history is linearizable by model. Histories are
// short: a check that does not end at once has failed.
func checkHistory(model porcupine.Model, history []porcupine.Operation) error {
	if result := porcupine.CheckOperationsTimeout(model, history, 20*time.Second); result != porcupine.Ok {
		return fmt.Errorf("a history of %d operations: linearizable: %s", len(history), result)
	}
	return nil
}

// testLinear records histories of a few goroutines on a few keys.
func testLinear(t *testing.T, kinds []kvs.Kind, open func() kvs.Engine) {
	seeds := kvstest.NewRandom(t)
	for round := range 10 {
		if err := checkHistory(register, record(t, open(), seeds, kinds, 30, 5)); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

// record runs goroutines that apply batches of most operations at most, and returns their
// history. The operations of one batch share its interval, in any order: that is weaker
// than the contract.
func record(t *testing.T, e kvs.Engine, seeds *rand.Rand, kinds []kvs.Kind, batches, most int) []porcupine.Operation {
	const clients, keys = 4, 3
	histories := make([][]porcupine.Operation, clients)
	started := time.Now()
	begin := make(chan struct{})
	var group sync.WaitGroup
	for id := range clients {
		random := rand.New(rand.NewPCG(seeds.Uint64(), 0))
		group.Go(func() {
			<-begin
			for i := range batches {
				ops := make([]op, 1+random.IntN(most))
				for j := range ops {
					ops[j] = op{randomKind(random, kinds), sharedKey(random.IntN(keys)), fmt.Sprintf("%d-%d-%d", id, i, j)}
					if ops[j].kind.Scans() {
						ops[j].value = scan("", 1+random.IntN(keys)).value
					}
				}
				call := time.Since(started)
				results := apply(t, e, ops...)
				back := time.Since(started)
				for j := range ops {
					histories[id] = append(histories[id], porcupine.Operation{
						ClientId: id, Input: ops[j], Call: int64(call), Output: results[j], Return: int64(back),
					})
				}
			}
		})
	}
	close(begin)
	group.Wait()
	return slices.Concat(histories...)
}

// store is the sequential model of all keys, for histories with scans, which read several.
// Its state is a reference, which no step changes.
var store = porcupine.Model{
	Init: func() any { return reference{} },
	Step: func(state, input, output any) (bool, any) {
		after := maps.Clone(state.(reference))
		return after.apply(input.(op)) == output, after
	},
	Equal: func(a, b any) bool { return maps.Equal(a.(reference), b.(reference)) },
}

// testLinearScans is testLinear with scans. A history of several keys has more orders, so
// its batches are smaller.
func testLinearScans(t *testing.T, kinds []kvs.Kind, open func() kvs.Engine) {
	seeds := kvstest.NewRandom(t)
	for round := range 20 {
		if err := checkHistory(store, record(t, open(), seeds, kinds, 40, 2)); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}
