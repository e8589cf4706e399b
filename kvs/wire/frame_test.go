package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"
	"time"

	"kvlab/kvs"
)

// golden is the header of a request with 3 operations in 258 bytes, call 7: a
// promise to every other build of this protocol. Its last four bytes are the
// CRC-32C (RFC 3720, appendix B.4) of those before.
var golden = []byte{
	'K', 'V', 'L', '2', 1, 0, 7, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 3, 0, 0, 0, 2, 1, 0, 0,
	0, 0, 0, 0, 0xec, 0x86, 0x92, 0x8f,
}

// goldenReply is the header of a deduplicated reply to it that took 1,234,500 ns.
var goldenReply = []byte{
	'K', 'V', 'L', '2', 2, 1, 7, 0, 0, 0, 0, 0,
	0x39, 0x30, 0, 0, 3, 0, 0, 0, 2, 1, 0, 0,
	0, 0, 0, 0, 0xf5, 0x36, 0x75, 0xdd,
}

func TestHeaderGolden(t *testing.T) {
	for _, test := range []struct {
		header header
		bytes  []byte
	}{
		{header{kind: requestFrame, seq: 7, count: 3, size: 258}, golden},
		{header{kind: replyFrame, flags: deduped, seq: 7, took: 1_234_500, count: 3, size: 258}, goldenReply},
	} {
		frame := bytes.Repeat([]byte{0xee}, headerLen) // put overwrites every byte
		test.header.put(frame)
		if !bytes.Equal(frame, test.bytes) {
			t.Errorf("the header is\n%x, want\n%x", frame, test.bytes)
		}
		if got, err := parseHeader(test.bytes, requestFrame, replyFrame); err != nil || got != test.header {
			t.Errorf("parsed: %+v, %v; want %+v", got, err, test.header)
		}
	}
}

// A time is rounded up to 100 ns, and one that has no room is the longest.
func TestHeaderTimes(t *testing.T) {
	const longest = (1<<32 - 1) * 100
	for took, want := range map[time.Duration]time.Duration{0: 0, 1: 100, 100: 100, 101: 200, time.Minute: time.Minute, longest: longest, longest + 1: longest, 1 << 62: longest} {
		frame := make([]byte, headerLen)
		header{kind: replyFrame, took: took}.put(frame)
		if got, err := parseHeader(frame, replyFrame); err != nil || got.took != want {
			t.Errorf("%d ns arrives as %d ns, %v; want %d", took, got.took, err, want)
		}
	}
}

// resealed returns the golden header with a change that its check agrees with.
func resealed(change func(frame []byte)) []byte {
	frame := bytes.Clone(golden)
	change(frame)
	binary.LittleEndian.PutUint32(frame[28:], crc32.Checksum(frame[:28], crc32.MakeTable(crc32.Castagnoli)))
	return frame
}

// badHeaders are headers that no server takes for a request.
var badHeaders = []struct {
	name  string
	frame []byte
}{
	{"another protocol", []byte("GET / HTTP/1.1\r\nHost: localhost\r\n")[:headerLen]},
	{"nothing but zeros", make([]byte, headerLen)},
	{"the version after this one", resealed(func(f []byte) { f[3] = '3' })},
	{"a wrong check", append(bytes.Clone(golden[:31]), golden[31]^1)},
	{"a type that does not exist", resealed(func(f []byte) { f[4] = 9 })},
	{"a reply", resealed(func(f []byte) { f[4] = byte(replyFrame) })},
	{"a request that took time", resealed(func(f []byte) { f[12] = 1 })},
	{"a flag that does not exist", resealed(func(f []byte) { f[5] = 4 })},
	{"a body check without its flag", resealed(func(f []byte) { f[25] = 1 })},
	{"a body beyond the cap", resealed(func(f []byte) { binary.LittleEndian.PutUint32(f[20:], kvs.MaxBody+1) })},
	{"a body of 4 GiB", resealed(func(f []byte) { binary.LittleEndian.PutUint32(f[20:], 1<<32-1) })},
	{"more operations than bytes", resealed(func(f []byte) { f[18] = 1 })},
}

func TestHeaderBitFlips(t *testing.T) {
	for bit := range 8 * headerLen {
		frame := bytes.Clone(golden)
		frame[bit/8] ^= 1 << (bit % 8)
		if h, err := parseHeader(frame, requestFrame, replyFrame, errorFrame); !errors.Is(err, errFrame) {
			t.Errorf("bit %d flipped: %+v, error %v; want one that wraps errFrame", bit, h, err)
		}
	}
}
