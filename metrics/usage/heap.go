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

// readRuntime reads runtime metrics by their names (package runtime/metrics), without stopping the world.
func readRuntime(names ...string) ([]float64, error) {
	samples := make([]gometrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	gometrics.Read(samples)
	values := make([]float64, len(names))
	for i, s := range samples {
		switch s.Value.Kind() {
		case gometrics.KindUint64:
			values[i] = float64(s.Value.Uint64())
		case gometrics.KindFloat64:
			values[i] = s.Value.Float64()
		default:
			return nil, fmt.Errorf("runtime metric %s is not supported by %s", s.Name, runtime.Version())
		}
	}
	return values, nil
}

// spare is what the heap has beyond the live objects: it comes and goes in the
// collector's rhythm.
func (h heap) spare() uint64 { return h.objects - min(h.objects, h.live) + h.unused + h.free }
