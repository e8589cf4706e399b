package engine

import (
	"os"
	"runtime/debug"
)

// The garbage collector's work is to mark every live record, whatever share of
// them a collection frees: with a store that only replaces values, waiting
// until the heap has grown fivefold costs memory alone. Near memoryShare of the
// machine's memory it stops waiting.
const (
	gcPercent   = 400
	memoryShare = 0.7
)

// TuneCollector sets this process's collector for a store on a machine with so
// much memory. GOGC and GOMEMLIMIT in the environment win, each on its own.
func TuneCollector(memoryBytes uint64) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(memoryShare * float64(memoryBytes)))
	}
}
