// Package engines holds engines that studies compare with those of kvs/engine.
package engines

import (
	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// Rows are the engines. None has scans.
var Rows = []engine.Row{
	row("xsync", "the concurrent map of puzpuzpuz/xsync", func() kvs.Engine { return newXSync() }),
	row("rwmutex", "one map behind a RWMutex", func() kvs.Engine { return &rwMutex{values: map[string][]byte{}} }),
	row("actor", "a map for each processor, owned by a goroutine that gets the operations by a channel", func() kvs.Engine { return newActor() }),
	row("labs-plain", "a plain sync.Map, as labs-grouped and the others have it", func() kvs.Engine { return new(plain) }),
	row("labs-grouped", "a plain sync.Map, consecutive operations of a kind together", func() kvs.Engine { return new(grouped) }),
	row("labs-locked", "a plain sync.Map, each operation counted behind a Mutex", func() kvs.Engine { return &counted{count: new(lockedCounters).add} }),
	row("labs-atomic", "a plain sync.Map, each operation counted by an atomic counter", func() kvs.Engine { return &counted{count: new(atomicCounters).add} }),
	row("labs-goroutines", "a plain sync.Map, a goroutine for each key of 256 operations", func() kvs.Engine { return new(perKey) }),
}

func row(name, description string, open func() kvs.Engine) engine.Row {
	return engine.Row{Name: name, Description: description, Lacks: []kvs.Kind{kvs.Scan, kvs.ScanPart},
		Open: func(engine.Options) (kvs.Engine, error) { return open(), nil }}
}
