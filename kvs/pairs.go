package kvs

import (
	"encoding/binary"
	"fmt"
)

// The result of a scan is one found value, which holds for each pair, in the keys' order
//
//	klen   1 byte
//	key    klen bytes
//	vlen   uvarint
//	value
//
// Its length is written after its pairs, in four bytes: enough for MaxBody.
const pairsLength = 4

// BeginPairs begins the result of a scan, which Pair continues and EndPairs ends. It
// returns the start of the pairs, for EndPairs.
func (r *Reply) BeginPairs() (start int) {
	r.n++
	r.Hits++
	if r.dedup != nil {
		r.dedup.sent++ // in full, whatever the values are
	}
	r.buf = append(r.buf, make([]byte, pairsLength)...)
	return len(r.buf)
}

// Pair appends a copy of a pair to the result of a scan.
func (r *Reply) Pair(key, value []byte) {
	if n := 1 + len(key) + binary.MaxVarintLen64 + len(value); cap(r.buf)-len(r.buf) < n && !r.widen(n) {
		return
	}
	buf := append(append(r.buf, byte(len(key))), key...)
	r.buf = append(binary.AppendUvarint(buf, uint64(len(value))), value...)
}

// EndPairs ends the result of a scan.
func (r *Reply) EndPairs(start int) {
	code := uint64(len(r.buf)-start)<<1 + codeRead
	for i := range pairsLength {
		r.buf[start-pairsLength+i] = byte(code>>(7*i)) | 0x80
	}
	r.buf[start-1] &^= 0x80
}

// Pairs walks the pairs in the value of a scan's result.
type Pairs struct{ rest []byte }

// PairsOf returns a cursor before the first pair.
func PairsOf(value []byte) Pairs { return Pairs{value} }

// More reports whether there is another pair.
func (p *Pairs) More() bool { return len(p.rest) > 0 }

// Next returns the next pair, which refers to the result. The error wraps ErrMalformed:
// there is none left, it is truncated or over a limit.
func (p *Pairs) Next() (key, value []byte, err error) {
	if rest := p.rest; len(rest) > 1 && rest[0] > 0 && len(rest) > 1+int(rest[0]) {
		end := 1 + int(rest[0])
		key, rest = rest[1:end:end], rest[end:]
		vlen, size := binary.Uvarint(rest)
		if size > 0 && vlen <= MaxValueLen && vlen <= uint64(len(rest)-size) {
			end := size + int(vlen)
			p.rest = rest[end:]
			return key, rest[size:end:end], nil
		}
	}
	return nil, nil, fmt.Errorf("%w pair: truncated or over a limit, with %d bytes left", ErrMalformed, len(p.rest))
}
