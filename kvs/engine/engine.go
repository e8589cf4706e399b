// Package engine holds the engines: where a server keeps its keys. Each passes
// the suite in engine/enginetest.
package engine

import (
	"fmt"

	"kvlab/kvs"
	"kvlab/kvs/engine/slab"
)

// Names are the engines that New knows, the default first.
var Names = []string{"syncmap", "slab", "xsync", "sharded", "rwmutex", "mutex"}

// New returns an empty engine by its name, one of Names or NullName, or an error
// that names the flag.
func New(name string) (kvs.Engine, error) {
	switch name {
	case "syncmap":
		return NewSyncMap(), nil
	case "slab":
		return slab.New()
	case "xsync":
		return NewXSync(), nil
	case "sharded":
		return NewSharded(), nil
	case "rwmutex":
		return NewRWMutex(), nil
	case "mutex":
		return NewMutex(), nil
	case NullName:
		return NewNull(), nil
	}
	return nil, fmt.Errorf("-engine %q: want one of %q, or %s (a ceiling, not a store)", name, Names, NullName)
}
