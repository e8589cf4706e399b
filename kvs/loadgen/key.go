package loadgen

import (
	"strconv"

	"kvlab/kvs"
	"kvlab/kvs/route"
)

// keys writes record ids as keys: a prefix, then the id in decimal. It belongs
// to one goroutine.
type keys struct {
	buf    [kvs.MaxKeyLen]byte
	prefix int
	seed   uint64 // route.Hash of the prefix
}

func newKeys(prefix string) keys {
	k := keys{seed: route.Hash([]byte(prefix))}
	k.prefix = copy(k.buf[:], prefix)
	return k
}

// key returns a record's key, which is good until the next call, and its
// route.Hash.
func (k *keys) key(id uint64) (key []byte, hash uint64) {
	key = strconv.AppendUint(k.buf[:k.prefix], id, 10)
	hash = k.seed
	for _, c := range key[k.prefix:] {
		hash = route.HashByte(hash, c)
	}
	return key, hash
}
