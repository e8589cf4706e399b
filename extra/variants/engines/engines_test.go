package engines

import (
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/engine/enginetest"
)

// opened returns an empty engine, which is closed at the test's end.
func opened(t testing.TB, row engine.Row) kvs.Engine {
	t.Helper()
	e, err := row.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if closer, ok := e.(io.Closer); ok {
		t.Cleanup(func() {
			if err := closer.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return e
}

func TestEngines(t *testing.T) {
	for _, row := range Rows {
		t.Run(row.Name, func(t *testing.T) {
			enginetest.Run(t, row.Lacks, func() kvs.Engine { return opened(t, row) })
		})
	}
}

func BenchmarkEngine(b *testing.B) {
	for _, row := range Rows {
		b.Run("engine="+row.Name, func(b *testing.B) {
			enginetest.Bench(b, func() kvs.Engine { return opened(b, row) })
		})
	}
}

// Close ends an actor's goroutines.
func TestActorCloses(t *testing.T) {
	before := runtime.NumGoroutine()
	if err := newActor().Close(); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines more", runtime.NumGoroutine()-before)
		}
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
