package route

import (
	"fmt"
	"strconv"
)

// digestKeys are so many that they meet 86 % of the balanced router's slots.
const digestKeys = 2 * slots

// Fingerprint is the Hash, in hex, of the numbers of the servers that own the
// keys 0, 1, 2 and so on to 16383, a byte each. Two routers that send those alike
// hardly send others differently: a table that was made for another workload
// differs in most of its slots.
func Fingerprint(router Router) string {
	hash := Hash(nil)
	for i := range digestKeys {
		key := strconv.AppendInt(nil, int64(i), 10)
		hash = HashByte(hash, byte(router.Server(key, Hash(key))))
	}
	return fmt.Sprintf("%016x", hash)
}
