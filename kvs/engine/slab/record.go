package slab

import "encoding/binary"

// A record is a key and its value, side by side in a block:
//
//	8 bytes  value length << 8 | key length
//	then     key, value
//
// It never changes once readers can see it.
type record []byte

const recordHeader = 8

func (r record) fill(key, value []byte) {
	binary.LittleEndian.PutUint64(r, uint64(len(value))<<8|uint64(len(key)))
	r = r[recordHeader:]
	copy(r[copy(r, key):], value)
}

func (r record) key() []byte {
	return r[recordHeader : recordHeader+int(r[0])]
}

func (r record) value() []byte {
	lengths := binary.LittleEndian.Uint64(r)
	start := recordHeader + int(lengths&0xff)
	return r[start : start+int(lengths>>8)]
}
