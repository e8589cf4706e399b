// Package engine holds the engines: where a server keeps its keys. Each passes
// the suite in engine/enginetest.
package engine

import (
	"fmt"
	"slices"

	"kvlab/kvs"
	"kvlab/kvs/engine/slab"
)

// Names are the engines that New knows, the default first.
var Names = []string{"syncmap", "slab", "xsync", "sharded", "rwmutex", "mutex"}

// Check returns an error that names the flag unless name is one that New knows.
func Check(name string) error {
	if name != NullName && !slices.Contains(Names, name) {
		return fmt.Errorf("-engine %q: want one of %q, or %s (a ceiling, not a store)", name, Names, NullName)
	}
	return nil
}

// New returns an empty engine by its name, one of Names or NullName.
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
	return nil, Check(name)
}
