package slab

import (
	"encoding/binary"

	"kvlab/kvs"
)

// A record is a key and its value, side by side in a block:
//
//	4 bytes  value length << 8 | key length
//	4 bytes  version
//	then     key, value
//
// It never changes once readers can see it.
type record []byte

const recordHeader = 8

func (r record) fill(key, value []byte) {
	binary.LittleEndian.PutUint32(r, uint32(len(value))<<8|uint32(len(key)))
	r = r[recordHeader:]
	copy(r[copy(r, key):], value)
}

func (r record) key() []byte {
	return r[recordHeader : recordHeader+int(r[0])]
}

func (r record) value() []byte {
	lengths := binary.LittleEndian.Uint32(r)
	start := recordHeader + int(lengths&0xff)
	return r[start : start+int(lengths>>8)]
}

func (r record) version() kvs.Version { return kvs.Version(binary.LittleEndian.Uint32(r[4:])) }

func (r record) stamp(v kvs.Version) { binary.LittleEndian.PutUint32(r[4:], uint32(v)) }
