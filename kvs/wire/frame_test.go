package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"
)

// golden is the header of a request with 3 operations in 258 bytes, call 7: a
// promise to every other build of this protocol. Its last four bytes are the
// CRC-32C (RFC 3720, appendix B.4) of those before.
var golden = []byte{
	'K', 'V', 'L', '1', 1, 0, 0, 0,
	7, 0, 0, 0, 0, 0, 0, 0,
	3, 0, 0, 0, 2, 1, 0, 0,
	0, 0, 0, 0, 0x85, 0xe3, 0x81, 0xe8,
}

func TestHeaderGolden(t *testing.T) {
	want := header{kind: requestFrame, seq: 7, count: 3, size: 258}
	frame := bytes.Repeat([]byte{0xee}, headerLen) // put overwrites every byte
	want.put(frame)
	if !bytes.Equal(frame, golden) {
		t.Errorf("the header is\n%x, want\n%x", frame, golden)
	}
	if got, err := parseHeader(golden, requestFrame); err != nil || got != want {
		t.Errorf("parsed: %+v, %v; want %+v", got, err, want)
	}
}

func TestHeaderRoundTrip(t *testing.T) {
	for _, want := range []header{
		{kind: requestFrame},
		{kind: replyFrame, flags: coalesced, seq: 1<<64 - 1, count: MaxBody, size: MaxBody},
		{kind: replyFrame, flags: coalesced | checked, seq: 1, count: 1, size: 1, body: 0xdeadbeef},
		{kind: errorFrame, flags: checked, seq: 1 << 40, size: 12},
	} {
		frame := make([]byte, headerLen)
		want.put(frame)
		if got, err := parseHeader(frame, requestFrame, replyFrame, errorFrame); err != nil || got != want {
			t.Errorf("parsed: %+v, %v; want %+v", got, err, want)
		}
	}
}

// resealed is the golden header with a change that its check agrees with.
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
	{"the version after this one", resealed(func(f []byte) { f[3] = '2' })},
	{"a wrong check", append(bytes.Clone(golden[:31]), golden[31]^1)},
	{"a type that does not exist", resealed(func(f []byte) { f[4] = 9 })},
	{"a reply", resealed(func(f []byte) { f[4] = byte(replyFrame) })},
	{"a reserved byte behind the type", resealed(func(f []byte) { f[6] = 1 })},
	{"a flag that does not exist", resealed(func(f []byte) { f[5] = 4 })},
	{"a body check without its flag", resealed(func(f []byte) { f[25] = 1 })},
	{"a body beyond the cap", resealed(func(f []byte) { binary.LittleEndian.PutUint32(f[20:], MaxBody+1) })},
	{"a body of 4 GiB", resealed(func(f []byte) { binary.LittleEndian.PutUint32(f[20:], 1<<32-1) })},
	{"more operations than bytes", resealed(func(f []byte) { f[18] = 1 })},
}

func TestBadHeaders(t *testing.T) {
	for _, bad := range badHeaders {
		if h, err := parseHeader(bad.frame, requestFrame); !errors.Is(err, ErrFrame) {
			t.Errorf("%s: %+v, error %v; want one that wraps ErrFrame", bad.name, h, err)
		}
	}
}

func TestHeaderBitFlips(t *testing.T) {
	for bit := range 8 * headerLen {
		frame := bytes.Clone(golden)
		frame[bit/8] ^= 1 << (bit % 8)
		if h, err := parseHeader(frame, requestFrame, replyFrame, errorFrame); !errors.Is(err, ErrFrame) {
			t.Errorf("bit %d flipped: %+v, error %v; want one that wraps ErrFrame", bit, h, err)
		}
	}
}
