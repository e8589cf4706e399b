package value

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"

	"kvlab/metrics"
)

// Key is the secret that a trial's values depend on. All clients of a trial have the same
// one, and no server.
type Key [2]uint64

// Fixed is the Key without a launcher. It is no secret.
var Fixed = Key{wy0, wy1}

// ParseKey reads 32 hexadecimal digits. "" gives Fixed.
func ParseKey(text string) (k Key, err error) {
	if text == "" {
		return Fixed, nil
	}
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 16 {
		return k, fmt.Errorf("the key of the values: want 32 hexadecimal digits, not %d characters", len(text))
	}
	return Key{binary.LittleEndian.Uint64(raw), binary.LittleEndian.Uint64(raw[8:])}, nil
}

// Check returns the check bytes of a value.
func (k *Key) Check(hash uint64, w metrics.WriteID, size int) uint64 {
	return k.sum(hash, w, size).check(hash, w, size)
}

// state is the state of SipHash.
type state struct{ v0, v1, v2, v3 uint64 }

// sum computes SipHash-1-3 with a result of 128 bits (Aumasson and Bernstein, "SipHash: a fast
// short-input PRF", 2012, and the reference code) of 23 bytes: a key's hash, the writer and
// the value's size. It returns the state from which both words of the result follow. A
// pseudo-random function's results do not reveal its key.
func (k *Key) sum(hash uint64, w metrics.WriteID, size int) state {
	s := state{k[0] ^ 0x736f6d6570736575, k[1] ^ 0x646f72616e646f6d ^ 0xee, k[0] ^ 0x6c7967656e657261, k[1] ^ 0x7465646279746573}
	for _, word := range [3]uint64{hash, uint64(w), uint64(size) | 23<<56} {
		s.v3 ^= word
		s = s.round()
		s.v0 ^= word
	}
	s.v2 ^= 0xee
	return s.round().round().round()
}

func (s state) round() state {
	v0, v2 := s.v0+s.v1, s.v2+s.v3
	v1, v3 := bits.RotateLeft64(s.v1, 13)^v0, bits.RotateLeft64(s.v3, 16)^v2
	v0, v2 = bits.RotateLeft64(v0, 32)+v3, v2+v1
	return state{v0, bits.RotateLeft64(v1, 17) ^ v2, bits.RotateLeft64(v2, 32), bits.RotateLeft64(v3, 21) ^ v0}
}

// first returns the first word of a SipHash.
func (s state) first() uint64 { return s.v0 ^ s.v1 ^ s.v2 ^ s.v3 }

// second returns the second word.
func (s state) second() uint64 {
	s.v1 ^= 0xdd
	return s.round().round().round().first()
}

// check returns the check bytes of a header.
func (s state) check(hash uint64, w metrics.WriteID, size int) uint64 {
	keyed := s.first() &^ 0xffffffff
	return keyed | uint64(plain(hash, w, size, keyed))
}

// plain returns the half of the check bytes that needs no Key.
func plain(hash uint64, w metrics.WriteID, size int, check uint64) uint32 {
	return uint32(mix(mix(hash^wy0, uint64(w)^wy1)^wy2, uint64(size)^check&^0xffffffff^wy1))
}
