// Package route maps keys to servers, and to cells for statistics, by their hash.
package route

import (
	"fmt"
	"kvlab/metrics/format"
	"math/bits"
)

// Router maps keys to n servers. It is immutable, safe for concurrent use, and the same
// on every node and in every release.
type Router interface {
	// Server returns the index in [0, n) of the owner of a key with the given Hash.
	Server(key []byte, hash uint64) int
}

// Names are the routers' names, the default first.
var Names = []string{"fnv", "seed", "balanced"}

// New returns the named router, or an error that names the flag. Only balanced uses
// known, which may be nil.
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

// HashByte returns the Hash of a key with the given hash plus the byte c.
func HashByte(hash uint64, c byte) uint64 { return (hash ^ uint64(c)) * 1099511628211 }

// HashWithout is the inverse of HashByte. It multiplies with the factor's inverse modulo
// 2^64.
func HashWithout(hash uint64, c byte) uint64 { return hash*0xce965057aff6957b ^ uint64(c) }

// fnvRouter takes the key's hash modulo the number of servers.
type fnvRouter uint64

func (n fnvRouter) Server(_ []byte, hash uint64) int {
	return int(hash % uint64(n))
}

// Owners sets owners[i] to the Server of the key with hashes[i]. In place of dividing it
// multiplies with the rounded-down reciprocal; the quotient is then at most one too small.
func (n fnvRouter) Owners(owners []uint32, hashes []uint64) {
	reciprocal := ^uint64(0) / uint64(n)
	for i, hash := range hashes[:len(owners)] {
		quotient, _ := bits.Mul64(hash, reciprocal)
		rest := hash - quotient*uint64(n) // below 2n
		less, below := bits.Sub64(rest, uint64(n), 0)
		owners[i] = uint32(less + uint64(n)&-below)
	}
}

// seedRouter is the labs' router: hash = (hash*13 + c) % n over the key's bytes.
type seedRouter uint64

func (n seedRouter) Server(key []byte, _ uint64) int {
	h := uint64(0)
	for _, c := range key {
		h = (h*13 + uint64(c)) % uint64(n)
	}
	return int(h)
}
