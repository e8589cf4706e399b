package engine

import (
	"unsafe"

	"kvlab/kvs"
	"kvlab/kvs/engine/prefetch"
)

// block is the first word of a key and its value, in one allocation without pointers, so
// that the garbage collector does not scan it:
//
//	word 0  version << 32 | value length << 8 | key length
//	then    key, value
//
// It is immutable once readers can see it.
type block uint64

const blockHeader = 8

// newBlock returns a block with copies of key and value.
func newBlock(key, value []byte) *block {
	words := make([]block, (blockHeader+len(key)+len(value)+7)/8)
	words[0] = block(len(value))<<8 | block(len(key))
	data := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)[blockHeader:]
	copy(data[copy(data, key):], value)
	return &words[0]
}

// contents returns the key and the value, which are read-only.
func (b *block) contents() (key, value []byte) {
	klen, vlen := int(*b&0xff), int(uint32(*b)>>8)
	data := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(b), blockHeader)), klen+vlen)
	return data[:klen:klen], data[klen:]
}

func (b *block) version() kvs.Version { return kvs.Version(*b >> 32) }

// stamp sets the version of a new block.
func (b *block) stamp(v kvs.Version) { *b |= block(v) << 32 }

// blockLines is how many lines of a block are prefetched. The processor prefetches the
// rest during a copy.
const blockLines = 3

// fetch prefetches the block's first lines. Its length is unknown until the first has
// arrived; excess lines cost little.
func (b *block) fetch(lines *prefetch.List) {
	prefetch.AddRange(lines, b, blockLines*prefetch.Line)
}
