// Package engine holds the engines: where a server keeps its keys. Each passes
// the suite in engine/enginetest.
package engine

import (
	"fmt"

	"kvlab/kvs"
)

// Names are the engines that New knows, the default first.
var Names = []string{"syncmap", "mutex"}

// New returns an empty engine by its name, or an error that names the flag.
func New(name string) (kvs.Engine, error) {
	switch name {
	case "syncmap":
		return NewSyncMap(), nil
	case "mutex":
		return NewMutex(), nil
	}
	return nil, fmt.Errorf("-engine %q: want one of %q", name, Names)
}
