package engine

import (
	"os"
	"runtime/debug"
)

// A garbage collection marks every live record, however little it frees. A store that
// only replaces values can wait until the heap has grown fivefold; that only costs
// memory. Near memoryShare of the machine's memory the collector runs earlier.
const (
	gcPercent   = 400
	memoryShare = 0.7
)

// TuneCollector configures the garbage collector for a store on a machine with
// memoryBytes. GOGC and GOMEMLIMIT in the environment take precedence.
func TuneCollector(memoryBytes uint64) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(memoryShare * float64(memoryBytes)))
	}
}
