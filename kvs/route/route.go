// Package route maps keys to servers, and to cells for statistics, by their hash.
package route

import (
	"errors"
	"fmt"
	"strings"

	"kvlab/internal/cli"
)

// Router maps keys to n servers. It is immutable, safe for concurrent use, and the same
// on every node and in every release.
type Router interface {
	// Server returns the index in [0, n) of the owner of a key with the given Hash.
	Server(key []byte, hash uint64) int
}

type row struct {
	name, description string
	open              func(servers int, known Popularity) (Router, error)
}

func (r row) Label() (name, description string) { return r.name, r.description }

// routers are all routers, the default first. A new router is a file and a row.
var routers = []row{
	{"fnv", "spreads the keys evenly, by their FNV-1a hash", newFNV},
	{"seed", "spreads the keys as the labs do, by another hash", newSeed},
	{"balanced", "spreads the operations evenly", newBalanced},
	{Slots, "spreads the keys as Redis Cluster does", newSlots},
	{"jump", "moves 1/n of the keys when server n joins, by jump consistent hashing", newJump},
	{"ring", "moves about as many, by consistent hashing with 1024 virtual nodes a server", newRing},
	{"xor", "spreads the keys by a hash of shifts and exclusive ors", newXor},
	{"multiplicative", "spreads the keys by a multiplication of their FNV-1a hash", newMultiplicative},
}

// Names are the routers' names, the default first.
var Names = cli.Names(routers)

// Usage lists all routers for the help of a flag.
func Usage() string { return cli.Usage(routers) }

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
	r, err := cli.Find("-router", name, routers)
	if err != nil {
		return nil, err
	}
	return r.open(servers, known)
}
