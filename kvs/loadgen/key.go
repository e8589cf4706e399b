package loadgen

import (
	"strconv"

	"kvlab/kvs"
)

// keys writes record ids as keys: a prefix, then the id in decimal. It belongs
// to one goroutine.
type keys struct {
	buf    [kvs.MaxKeyLen]byte
	prefix int
	seed   uint64 // KeyHash of the prefix
}

func newKeys(prefix string) keys {
	k := keys{seed: kvs.KeyHash([]byte(prefix))}
	k.prefix = copy(k.buf[:], prefix)
	return k
}

// key returns a record's key, which is good until the next call, and its
// kvs.KeyHash.
func (k *keys) key(id uint64) (key []byte, hash uint64) {
	key = strconv.AppendUint(k.buf[:k.prefix], id, 10)
	hash = k.seed
	for _, c := range key[k.prefix:] {
		hash = kvs.KeyHashByte(hash, c)
	}
	return key, hash
}
