package engine

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"unsafe"

	"kvlab/kvs"
)

// SyncMap keeps keys in sync.Map. One sync.Map of a million string keys costs
// eight to ten dependent cache misses a lookup: five or six levels of a trie of
// 16 branches, the entry, the boxed key, its bytes, the boxed value, its bytes.
// Two changes leave half of them:
//
//   - There are 2^16 maps, chosen by the key's hash, so that a lookup passes 1.7
//     levels on average among a million keys, and 2.5 among ten million.
//   - A map's key is the 64-bit hash, and its value a block that holds hash,
//     key and value side by side: comparing the key brings the value's cache
//     line along.
//
// Two keys may share a hash. The first to come owns it for good; the others
// live in a plain sync.Map of strings. Nobody waits for them: among a million
// keys the odds that there is one are 1 in 4*10^7 (10^12/2 pairs, 2^64 hashes).
//
// Blocks are immutable: a Put replaces the whole block, so that a reader never
// sees half of one, and the collector takes the old.
type SyncMap struct {
	seed   maphash.Seed
	hash   func(maphash.Seed, []byte) uint64
	shards [1 << shardBits]sync.Map // hash -> *uint64, the first word of a block
	others sync.Map                 // string -> *uint64, for keys whose hash is taken
	length atomic.Int64
}

const shardBits = 16

// NewSyncMap returns an empty engine.
func NewSyncMap() *SyncMap {
	return &SyncMap{seed: maphash.MakeSeed(), hash: maphash.Bytes}
}

// Len is the number of keys.
func (m *SyncMap) Len() int { return int(m.length.Load()) }

// group is how many consecutive Gets are looked up together: the processor
// overlaps the cache misses of lookups that stand side by side with nothing
// but each other in between.
const group = 32

// Apply executes ops in order; see kvs.Engine.
func (m *SyncMap) Apply(ops []kvs.Op, reply *kvs.Reply) {
	for len(ops) > 0 {
		n := 0
		for n < len(ops) && n < group && ops[n].Kind == kvs.Get {
			n++
		}
		if n > 0 {
			m.get(ops[:n], reply)
			ops = ops[n:]
			continue
		}
		m.write(&ops[0], reply)
		ops = ops[1:]
	}
}

func (m *SyncMap) get(ops []kvs.Op, reply *kvs.Reply) {
	var hashes [group]uint64
	var blocks [group]*uint64
	for i := range ops {
		hashes[i] = m.hash(m.seed, ops[i].Key)
	}
	for i := range ops {
		if v, ok := m.shard(hashes[i]).Load(hashes[i]); ok {
			blocks[i] = v.(*uint64)
		}
	}
	for i := range ops {
		if value, ok := m.value(blocks[i], ops[i].Key); ok {
			reply.Found(value)
		} else {
			reply.Missing()
		}
	}
}

func (m *SyncMap) shard(hash uint64) *sync.Map {
	return &m.shards[hash>>(64-shardBits)]
}

// value returns what is stored under key, given the block that its hash led
// to, nil for none.
func (m *SyncMap) value(b *uint64, key []byte) ([]byte, bool) {
	if b == nil {
		return nil, false
	}
	if k, value := contents(b); string(k) == string(key) {
		return value, true
	}
	if v, ok := m.others.Load(string(key)); ok {
		_, value := contents(v.(*uint64))
		return value, true
	}
	return nil, false
}

func (m *SyncMap) write(op *kvs.Op, reply *kvs.Reply) {
	hash := m.hash(m.seed, op.Key)
	b := newBlock(hash, op.Key, op.Value)
	old, ok := m.shard(hash).LoadOrStore(boxed(b), b)
	if ok {
		old, ok = m.replace(old.(*uint64), b, op.Key)
	}
	if !ok {
		m.length.Add(1)
	}
	switch {
	case op.Kind == kvs.Put:
		reply.Stored()
	case ok:
		_, value := contents(old.(*uint64))
		reply.Found(value)
	default:
		reply.Missing()
	}
}

// replace stores b where its hash is taken by owner: in its place when the key
// is the same, among the others when it is not. It returns the block that b
// replaces.
func (m *SyncMap) replace(owner, b *uint64, key []byte) (any, bool) {
	if k, _ := contents(owner); string(k) == string(key) {
		return m.shard(*b).Swap(boxed(b), b)
	}
	return m.others.Swap(string(key), b)
}

// A block is hash, lengths, key and value in one allocation without pointers,
// which the collector need not look into:
//
//	word 0  hash
//	word 1  value length << 8 | key length
//	then    key, value
const blockHeader = 16

func newBlock(hash uint64, key, value []byte) *uint64 {
	words := make([]uint64, (blockHeader+len(key)+len(value)+7)/8)
	words[0] = hash
	words[1] = uint64(len(value))<<8 | uint64(len(key))
	data := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)[blockHeader:]
	copy(data[copy(data, key):], value)
	return &words[0]
}

// contents returns the key and the value in a block; neither may be written.
func contents(b *uint64) (key, value []byte) {
	lengths := *(*uint64)(unsafe.Add(unsafe.Pointer(b), 8))
	klen, vlen := int(lengths&0xff), int(lengths>>8)
	data := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(b), blockHeader)), klen+vlen)
	return data[:klen:klen], data[klen:]
}

// boxed returns the hash in a block as an interface value that points into the
// block, where a plain conversion would allocate a copy: a sync.Map keeps the
// interface value it is given, and each lookup compares with it.
func boxed(b *uint64) any {
	var key any = uint64(0)
	(*[2]unsafe.Pointer)(unsafe.Pointer(&key))[1] = unsafe.Pointer(b)
	return key
}

var _ kvs.Engine = (*SyncMap)(nil)
