// Package route says which server owns a key, and sorts keys into cells by their
// hash.
package route

import (
	"fmt"
	"kvlab/metrics/format"
	"math/bits"
)

// Router says which of n servers owns a key. It is immutable, safe for
// concurrent use, and the same on every node and in every release.
type Router interface {
	// Server returns the owner's index in [0, n) of a key whose Hash is
	// hash.
	Server(key []byte, hash uint64) int
}

// Names are the names that New knows, the default first.
var Names = []string{"fnv", "seed", "balanced"}

// New returns the named router for a number of servers, or an error that
// names the flag. Only balanced looks at what is known of the keys; nil knows of
// none.
func New(name string, servers int, known Popularity) (Router, error) {
	if servers < 1 {
		return nil, fmt.Errorf("-hosts: a router needs at least one server")
	}
	switch name {
	case "fnv":
		return fnvRouter(servers), nil
	case "seed":
		return seedRouter(servers), nil
	case "balanced":
		return newBalanced(servers, known)
	}
	return nil, fmt.Errorf("-router %q: want one of %q%s", name, Names, format.DidYouMean(name, "", Names))
}

// Hash is the 64-bit FNV-1a hash of key (Fowler, Noll and Vo;
// draft-eastlake-fnv).
func Hash(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range key {
		h = HashByte(h, c)
	}
	return h
}

// HashByte returns the Hash of a key that is one byte longer than the one
// with the given hash.
func HashByte(hash uint64, c byte) uint64 { return (hash ^ uint64(c)) * 1099511628211 }

// HashWithout is the inverse of HashByte: it returns the hash that c turned
// into the one given. The factor's own inverse modulo 2^64 undoes it.
func HashWithout(hash uint64, c byte) uint64 { return hash*0xce965057aff6957b ^ uint64(c) }

// fnvRouter takes the key's hash modulo the number of servers.
type fnvRouter uint64

func (n fnvRouter) Server(_ []byte, hash uint64) int {
	return int(hash % uint64(n))
}

// Owners sets each owner to the Server of the key with the hash in its place. In
// place of a division for each it multiplies with the rounded reciprocal, and the
// quotient is then at most one short: hash/2^64, below 1, goes missing, and what
// the rounding takes.
func (n fnvRouter) Owners(owners []uint32, hashes []uint64) {
	reciprocal := ^uint64(0) / uint64(n)
	for i, hash := range hashes[:len(owners)] {
		quotient, _ := bits.Mul64(hash, reciprocal)
		rest := hash - quotient*uint64(n) // below 2n
		less, below := bits.Sub64(rest, uint64(n), 0)
		owners[i] = uint32(less + uint64(n)&-below)
	}
}

// seedRouter is the seed's own: hash = (hash*13 + c) % n over the key's bytes.
type seedRouter uint64

func (n seedRouter) Server(key []byte, _ uint64) int {
	h := uint64(0)
	for _, c := range key {
		h = (h*13 + uint64(c)) % uint64(n)
	}
	return int(h)
}
