package route

import (
	"encoding/binary"
)

// Hash returns the 64-bit FNV-1a hash of key (Fowler, Noll and Vo;
// draft-eastlake-fnv).
func Hash(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range key {
		h = HashByte(h, c)
	}
	return h
}

// Word returns a number for a key, of its length and its first and last 8 bytes at most.
func Word(key []byte) uint64 {
	le, n := binary.LittleEndian, len(key)
	switch {
	case n >= 8:
		return le.Uint64(key) + le.Uint64(key[n-8:])*wordFactor + uint64(n)
	case n >= 4:
		return uint64(le.Uint32(key)) | uint64(le.Uint32(key[n-4:]))<<32
	case n > 0:
		return uint64(key[0]) | uint64(key[n-1])<<8
	}
	return 0
}

const wordFactor = 0x9e3779b97f4a7c15

// HashByte returns the Hash of a key with the given hash plus the byte c.
func HashByte(hash uint64, c byte) uint64 { return (hash ^ uint64(c)) * 1099511628211 }

// HashWithout returns the inverse of HashByte. It multiplies with the factor's inverse modulo
// 2^64.
func HashWithout(hash uint64, c byte) uint64 { return hash*0xce965057aff6957b ^ uint64(c) }
