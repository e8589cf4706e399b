package route

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
