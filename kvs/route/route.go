// Package route maps keys to servers, and to cells for statistics, by their hash.
package route

import (
	"fmt"
	"kvlab/metrics/format"
	"strings"
)

// Router maps keys to n servers. It is immutable, safe for concurrent use, and the same
// on every node and in every release.
type Router interface {
	// Server returns the index in [0, n) of the owner of a key with the given Hash.
	Server(key []byte, hash uint64) int
}

// routers are all routers, the default first. A new router is a file and a row.
var routers = []struct {
	name, description string
	open              func(servers int, known Popularity) (Router, error)
}{
	{"fnv", "spreads the keys evenly, by their FNV-1a hash", newFNV},
	{"seed", "spreads the keys as the labs do, by another hash", newSeed},
	{"balanced", "spreads the operations evenly", newBalanced},
}

// Names are the routers' names, the default first.
var Names = func() (names []string) {
	for _, r := range routers {
		names = append(names, r.name)
	}
	return names
}()

// Usage lists all routers for the help of a flag.
func Usage() string {
	var all []string
	for _, r := range routers {
		all = append(all, fmt.Sprintf("%s (%s)", r.name, r.description))
	}
	return strings.Join(all, ", ")
}

// New returns the named router, or an error that names the flag. The router may use
// known, which may be nil.
func New(name string, servers int, known Popularity) (Router, error) {
	if servers < 1 {
		return nil, fmt.Errorf("-hosts: a router needs at least one server")
	}
	for _, r := range routers {
		if r.name == name {
			return r.open(servers, known)
		}
	}
	return nil, fmt.Errorf("-router %q: want one of %q%s", name, Names, format.DidYouMean(name, "", Names))
}
