package value

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"testing"

	"kvlab/metrics"
)

// sipHash returns SipHash-c-d with a result of 128 bits, byte by byte as its paper describes it.
func sipHash(c, d int, key Key, text []byte) [2]uint64 {
	v := [4]uint64{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d ^ 0xee, key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573}
	half := func(a, b, c, d, s, t int) {
		v[a] += v[b]
		v[c] += v[d]
		v[b] = bits.RotateLeft64(v[b], s) ^ v[a]
		v[d] = bits.RotateLeft64(v[d], t) ^ v[c]
		v[a] = bits.RotateLeft64(v[a], 32)
	}
	rounds := func(n int) {
		for range n {
			half(0, 1, 2, 3, 13, 16)
			half(2, 1, 0, 3, 17, 21)
		}
	}
	length := len(text)
	for text = append(append(text[:length:length], make([]byte, 7-length%8)...), byte(length)); len(text) > 0; text = text[8:] {
		word := binary.LittleEndian.Uint64(text)
		v[3] ^= word
		rounds(c)
		v[0] ^= word
	}
	v[2] ^= 0xee
	rounds(d)
	first := v[0] ^ v[1] ^ v[2] ^ v[3]
	v[1] ^= 0xdd
	rounds(d)
	return [2]uint64{first, v[0] ^ v[1] ^ v[2] ^ v[3]}
}

// sum is SipHash-1-3 by a description that gives the reference code's vectors of
// SipHash-2-4: of no bytes, of 0 to 13, and of 0 to 14.
func TestSumIsSipHash(t *testing.T) {
	key := Key{0x0706050403020100, 0x0f0e0d0c0b0a0908}
	var text [15]byte
	for i := range text {
		text[i] = byte(i)
	}
	for n, want := range map[int][2]uint64{0: {0xe6a825ba047f81a3, 0x930255c71472f66d}, 14: {0x9cded766aceffc31, 0x024949e45f48c77e}, 15: {0x11a8b03399e99354, 0xd9c3cf970fec087e}} {
		if got := sipHash(2, 4, key, text[:n]); got != want {
			t.Errorf("SipHash-2-4 of %d bytes: %x, want %x", n, got, want)
		}
	}
	hash, w, size := uint64(aHash), metrics.MakeWriteID(3, 7, 0).Next(), 1000
	message := binary.LittleEndian.AppendUint64(nil, hash)
	message = binary.LittleEndian.AppendUint64(message, uint64(w))
	message = binary.LittleEndian.AppendUint64(message, uint64(size))[:23]
	sum := key.sum(hash, w, size)
	if got, want := [2]uint64{sum.first(), sum.second()}, sipHash(1, 3, key, message); got != want {
		t.Errorf("sum %x, want %x", got, want)
	}
}

// A value of another Key is named as such wherever it is compared in full, and a value that
// is damaged is not.
func TestOtherKey(t *testing.T) {
	other, w := Key{1, 2}, metrics.MakeWriteID(3, 7, 0).Next()
	for _, size := range []int{HeaderLen, 128} {
		value := make([]byte, size)
		other.Put(value, aHash, w)
		hasty := thorough(size)
		hasty.Every, hasty.Until = 16, 2 // the next is not compared
		if _, err := hasty.Check(value, aHash); err != nil {
			t.Errorf("%d bytes, not compared in full: %v", size, err)
		}
		if _, err := hasty.Check(value, aHash); err == nil || !strings.Contains(err.Error(), "of an earlier run, or made up") {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	value := make([]byte, HeaderLen)
	Fixed.Put(value, aHash, w)
	if got, want := binary.LittleEndian.Uint64(value[16:]), Fixed.Check(aHash, w, HeaderLen); got != want {
		t.Errorf("check bytes %016x, want %016x", got, want)
	}
}

func TestParseKey(t *testing.T) {
	if k, err := ParseKey("01000000000000000200000000000000"); err != nil || k != (Key{1, 2}) {
		t.Errorf("%x, %v", k, err)
	}
	if k, err := ParseKey(""); err != nil || k != Fixed {
		t.Errorf("%x, %v", k, err)
	}
	for _, text := range []string{"0", "zz000000000000000200000000000000"} {
		if _, err := ParseKey(text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}
