package labs

import (
	"sync"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/engine/enginetest"
)

func TestEngines(t *testing.T) {
	for _, row := range Rows {
		t.Run(row.Name, func(t *testing.T) {
			enginetest.Run(t, row.Lacks, func() kvs.Engine {
				e, err := row.Open(engine.Options{})
				if err != nil {
					t.Fatal(err)
				}
				return e
			})
		})
	}
}

// Counters that goroutines share count each operation once.
func TestCounters(t *testing.T) {
	const goroutines, each = 8, 1000
	var locked lockedCounters
	var atomics atomicCounters
	for _, add := range []func(kvs.Kind){locked.add, atomics.add} {
		var group sync.WaitGroup
		for range goroutines {
			group.Go(func() {
				for range each {
					add(kvs.Get)
					add(kvs.Put)
				}
			})
		}
		group.Wait()
	}
	want := [kvs.Kinds]uint64{kvs.Get: goroutines * each, kvs.Put: goroutines * each}
	if locked.ops != want {
		t.Errorf("counted behind a lock: %v, want %v", locked.ops, want)
	}
	for kind := range atomics {
		if got := atomics[kind].Load(); got != want[kind] {
			t.Errorf("counted by atomic counters: %d of kind %d, want %d", got, kind, want[kind])
		}
	}
}
