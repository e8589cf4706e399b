package usage

import (
	"fmt"
	"runtime"
	gometrics "runtime/metrics"
)

// heap is the state of the collector's heap, in bytes.
type heap struct {
	objects uint64 // live, garbage that was not swept yet, and those made since the last collection
	live    uint64 // what the last collection found in use
	unused  uint64 // kept for objects of sizes that are in use
	free    uint64 // kept for anything, and not yet returned to the system
}

// readHeap asks the runtime, without stopping the world. The names are package
// runtime/metrics's.
func readHeap() (heap, error) {
	samples := []gometrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	gometrics.Read(samples)
	var values [4]uint64
	for i, s := range samples {
		if s.Value.Kind() != gometrics.KindUint64 {
			return heap{}, fmt.Errorf("runtime metric %s is not supported by %s", s.Name, runtime.Version())
		}
		values[i] = s.Value.Uint64()
	}
	return heap{values[0], values[1], values[2], values[3]}, nil
}

// spare is what the heap has beyond the live objects: it comes and goes in the
// collector's rhythm.
func (h heap) spare() uint64 { return h.objects - min(h.objects, h.live) + h.unused + h.free }
