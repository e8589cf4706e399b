package route

import (
	"fmt"
	"strconv"
)

// digestKeys reach 86 % of the balanced router's slots.
const digestKeys = 2 * slots

// Fingerprint returns the Hash, in hex, of the owners of the keys 0 to 16383, a byte
// each. Routers with equal fingerprints agree on other keys too: the balanced routers of
// two workloads differ in most slots.
func Fingerprint(router Router) string {
	hash := Hash(nil)
	for i := range digestKeys {
		key := strconv.AppendInt(nil, int64(i), 10)
		hash = HashByte(hash, byte(router.Server(key, Hash(key))))
	}
	return fmt.Sprintf("%016x", hash)
}
