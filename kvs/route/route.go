// Package route maps keys to servers, and to cells for statistics, by their hash.
package route

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kvlab/internal/cli"
)

// Router maps keys to n servers. It is immutable, safe for concurrent use, and the same
// on every node and in every release.
type Router interface {
	// Server returns the index in [0, n) of the owner of a key with the given Hash.
	Server(key []byte, hash uint64) int
}

// Row describes a router.
type Row struct {
	Name, Description string

	// Open returns the router of some servers, at least one. It may use known, which may be
	// nil. Its error names the flag.
	Open func(servers int, known Popularity) (Router, error)
}

// Label returns the row's name and description.
func (r Row) Label() (name, description string) { return r.Name, r.Description }

// rows are the routers that a program knows, the default first.
var rows = []Row{
	{"fnv", "spreads the keys evenly, by their FNV-1a hash", newFNV},
	{"seed", "spreads the keys as the labs do, by another hash", newSeed},
	{"balanced", "spreads the operations evenly", newBalanced},
	{Slots, "spreads the keys as Redis Cluster does", newSlots},
}

// Names are the routers' names, the default first.
var Names = cli.Names(rows)

// Link adds routers to those that the program knows. A main calls it before anything else.
func Link(more ...[]Row) {
	rows = append(rows, slices.Concat(more...)...)
	Names = cli.Names(rows)
}

// Usage lists all routers for the help of a flag.
func Usage() string { return cli.Usage(rows) }

// New returns the named router, or an error that names the flag. The router may use
// known, which may be nil.
func New(name string, servers int, known Popularity) (Router, error) {
	if servers < 1 {
		return nil, errors.New("-hosts: a router needs at least one server")
	}
	if strings.HasPrefix(name, Slots+":") {
		t, err := ParseSlots(name, servers)
		var r Router
		if err == nil {
			r, err = t.router()
		}
		if err != nil {
			return nil, fmt.Errorf("-router %s: %w", Slots, err)
		}
		return r, nil
	}
	r, err := cli.Find("-router", name, rows)
	if err != nil {
		return nil, err
	}
	return r.Open(servers, known)
}
