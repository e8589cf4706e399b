package loadgen

import (
	"strconv"

	"kvlab/kvs"
)

// keys writes record ids as keys: a prefix, then the id in decimal. It belongs
// to one worker.
type keys struct {
	buf    [kvs.MaxKeyLen]byte
	prefix int
}

func newKeys(prefix string) keys {
	var k keys
	k.prefix = copy(k.buf[:], prefix)
	return k
}

// key returns a record's key, which is good until the next call.
func (k *keys) key(id uint64) []byte {
	return strconv.AppendUint(k.buf[:k.prefix], id, 10)
}
