package loadgen

import (
	"encoding/binary"
	"math/bits"
	"strconv"

	"kvlab/kvs"
)

// keys writes record ids as keys: a prefix, then the id in decimal. It belongs
// to one worker.
//
// Ids of many lengths in random order are poison for a loop over digits: each
// length is a branch that the processor guesses wrong, at 15 to 20 cycles. Up to
// eight digits both the digits and their hash are computed without a branch.
type keys struct {
	buf    [kvs.MaxKeyLen + 8]byte
	prefix int
	seed   uint64 // KeyHash of the prefix
}

func newKeys(prefix string) keys {
	k := keys{seed: kvs.KeyHash([]byte(prefix))}
	k.prefix = copy(k.buf[:], prefix)
	return k
}

// short is the first id that has more than eight digits.
const short = 100_000_000

// key returns a record's key, which is good until the next call, and its
// kvs.KeyHash.
func (k *keys) key(id uint64) (key []byte, hash uint64) {
	if id >= short {
		key = strconv.AppendUint(k.buf[:k.prefix], id, 10)
		return key, kvs.KeyHash(key)
	}
	digits, n := decimal(id)
	binary.LittleEndian.PutUint64(k.buf[k.prefix:], digits)
	hash = k.seed
	for _, prime := range &primes[n&0xf] {
		hash = (hash ^ digits&0xff) * prime
		digits >>= 8
	}
	return k.buf[:k.prefix+n], hash
}

// primes are the factors of the FNV-1a steps over n digits and then over zero
// bytes up to eight, which with a factor of 1 change nothing.
var primes = func() (p [16][8]uint64) {
	for n := range p {
		for i := range p[n] {
			p[n][i] = 1
			if i < n {
				p[n][i] = kvs.KeyHashByte(0, 1)
			}
		}
	}
	return p
}()

// decimal returns the decimal digits of an id below short, the first in the
// lowest byte, and their number. Two divisions of all lanes of a word at once
// split it into pairs and pairs into digits: 10486/2^20 is 1/100 for what is
// below 10^4, and 103/2^10 is 1/10 for what is below 100.
func decimal(id uint64) (digits uint64, n int) {
	v := id/10000 | id%10000<<32
	hundreds := v * 10486 >> 20 & 0x0000007f_0000007f
	v = hundreds | (v-100*hundreds)<<16
	tens := v * 103 >> 10 & 0x000f_000f_000f_000f
	v = tens | (v-10*tens)<<8
	zeros := bits.TrailingZeros64(v|1<<56) / 8 // in front; 0 itself has a digit
	return (v + 0x30303030_30303030) >> (8 * zeros), 8 - zeros
}
