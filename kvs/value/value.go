// Package value writes self-describing values and checks them.
package value

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/valyala/fastrand"

	"kvlab/metrics"
	"kvlab/workload/size"
)

// HeaderLen is the length of a value's header. A value describes itself, so that any
// reader who has its Key can check it:
//
//	0   key hash   uint64   route.Hash of its key
//	8   version    uint32   number of the write among its writer's, from 1
//	12  worker     uint16 } the writer
//	14  client     uint16 }
//	16  plain      uint32   mix of the rest of the header and the length
//	20  keyed      uint32   half of the first word of Key.sum
//	24  body                pseudo-random bytes derived from the second word of Key.sum
//
// The plain check bytes do not depend on the Key: they tell a damaged value from a value of
// another Key. Without the Key nobody can compute a body from its header, and a made-up value
// passes a full comparison only by luck, once in 2^32 times.
const HeaderLen = 24

// Odd constants of the wyhash and wyrand functions (Wang Yi,
// github.com/wangyi-fudan/wyhash, public domain).
const (
	wy0 = 0xa0761d6478bd642f
	wy1 = 0xe7037ed1a0b428db
	wy2 = 0x8ebc6af09c88c6e3
)

// mix folds the 128-bit product of its arguments, as in wyhash.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// Put fills value, of at least HeaderLen bytes, for the key with the given hash.
func (k *Key) Put(value []byte, hash uint64, w metrics.WriteID) {
	le := binary.LittleEndian
	sum := k.sum(hash, w, len(value))
	le.PutUint64(value[0:], hash)
	le.PutUint64(value[8:], uint64(w))
	le.PutUint64(value[16:], sum.check(hash, w, len(value)))
	if len(value) == HeaderLen {
		return
	}
	c := sum.second()
	body := value[HeaderLen:]
	for ; len(body) >= 32; body = body[32:] {
		four := (*[32]byte)(body)
		le.PutUint64(four[0:], grow(&c))
		le.PutUint64(four[8:], grow(&c))
		le.PutUint64(four[16:], grow(&c))
		le.PutUint64(four[24:], grow(&c))
	}
	for ; len(body) >= 8; body = body[8:] {
		le.PutUint64(body, grow(&c))
	}
	if len(body) > 0 {
		var last [8]byte
		le.PutUint64(last[:], grow(&c))
		copy(body, last[:])
	}
}

// grow returns the next 8 bytes of a body (wyrand).
func grow(state *uint64) uint64 {
	*state += wy0
	return mix(*state, *state^wy1)
}

// Checker checks values that were read. It belongs to one worker.
type Checker struct {
	Key     Key
	Size    int         // of every value; -1 if that depends on its key
	Sizes   *size.Sizes // of the keys' values; nil for Size
	Clients int         // the number of clients that write
	Workers int         // the number of workers of each client
	Every   int         // one value in Every is compared in full, on average
	Until   int         // values until the next full comparison
	random  fastrand.RNG
}

// draw chooses the next value to compare in full, at random, so that no pattern of the
// operations excludes values.
func (c *Checker) draw() { c.Until = 1 + int(c.random.Uint32n(uint32(2*c.Every-1))) }

// Random returns a random number below n. It does not affect the operations.
func (c *Checker) Random(n uint32) uint32 { return c.random.Uint32n(n) }

// Check checks the value of the key with the given hash, and reports whether it compared
// the body too.
func (c *Checker) Check(value []byte, hash uint64) (compared bool, err error) {
	if len(value) != c.Size {
		if err := c.checkSize(len(value), hash); err != nil {
			return false, err
		}
	}
	le := binary.LittleEndian
	header := (*[HeaderLen]byte)(value)
	w := metrics.WriteID(le.Uint64(header[8:]))
	check := le.Uint64(header[16:])
	if le.Uint64(header[0:]) != hash || uint32(check) != plain(hash, w, len(value), check) || w.Client() >= c.Clients || w.Worker() >= c.Workers {
		return false, c.fault(value, hash, w)
	}
	if c.Until--; c.Until > 0 {
		return false, nil
	}
	c.draw()
	sum := c.Key.sum(hash, w, len(value))
	if want := sum.check(hash, w, len(value)); check != want {
		return true, fmt.Errorf("a value of an earlier run, or made up: keyed check bytes %08x, want %08x (worker %d of client %d, version %d)",
			check>>32, want>>32, w.Worker(), w.Client(), uint32(w))
	}
	return true, compareBody(value[HeaderLen:], sum.second())
}

// checkSize checks the size of a value that is not Size.
func (c *Checker) checkSize(bytes int, hash uint64) error {
	want := c.Size
	if c.Sizes != nil {
		want = c.Sizes.At(hash)
	}
	switch bytes {
	case want:
		return nil
	case 0:
		return fmt.Errorf("an empty value, want %d bytes: it has expired, or was never stored", want)
	}
	return fmt.Errorf("a value of %d bytes, want %d", bytes, want)
}

// HashIn returns the key hash in a value. Without a store, values are checked against
// it, so that the check costs the same.
func HashIn(value []byte) uint64 {
	if len(value) < HeaderLen {
		return 0
	}
	return binary.LittleEndian.Uint64(value)
}

// fault returns the first error in a value's header.
func (c *Checker) fault(value []byte, hash uint64, w metrics.WriteID) error {
	le := binary.LittleEndian
	switch {
	case le.Uint64(value[0:]) != hash:
		return fmt.Errorf("the value of another key: key hash %016x, want %016x", le.Uint64(value[0:]), hash)
	case w.Client() >= c.Clients || w.Worker() >= c.Workers:
		return fmt.Errorf("a value written by worker %d of client %d, which does not exist", w.Worker(), w.Client())
	}
	check := le.Uint64(value[16:])
	return fmt.Errorf("check bytes %08x, want %08x (worker %d of client %d, version %d)",
		uint32(check), plain(hash, w, len(value), check), w.Worker(), w.Client(), uint32(w))
}

func compareBody(body []byte, sum uint64) error {
	le := binary.LittleEndian
	at := HeaderLen
	for ; len(body) >= 8; body = body[8:] {
		if want := grow(&sum); le.Uint64(body) != want {
			return fmt.Errorf("a value with %016x at offset %d, want %016x", le.Uint64(body), at, want)
		}
		at += 8
	}
	if len(body) > 0 {
		var last [8]byte
		le.PutUint64(last[:], grow(&sum))
		if string(body) != string(last[:len(body)]) {
			// A string, so that last does not escape to the heap for every value.
			return fmt.Errorf("a value whose last %d bytes are %x, want %x", len(body), body, string(last[:len(body)]))
		}
	}
	return nil
}
