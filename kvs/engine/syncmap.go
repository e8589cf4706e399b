package engine

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"kvlab/kvs"
	"kvlab/kvs/engine/prefetch"
)

// SyncMap is a sync.Map of 4096 buckets; SyncMapPlain is one of keys. A lookup in a
// sync.Map of a million string keys costs eight to ten dependent cache misses: five or
// six levels of a trie of 16 branches, the entry, the boxed key, its bytes, the boxed
// value, its bytes. Here the map's keys are the first 12 bits of the hashes, so its trie
// takes a few hundred kilobytes for any number of keys. Its values are buckets of blocks,
// which hold keys and values. The misses of many lookups in buckets overlap.
//
// Reads take no lock. A Put replaces a whole block, so readers never see a partial one;
// the garbage collector frees the old block. A writer takes one of 256 locks, and holds
// it while a bucket, 1/4096 of the keys, grows.
type SyncMap struct {
	seed    maphash.Seed
	hash    func(maphash.Seed, []byte) uint64
	buckets sync.Map              // &numbers[number] -> *bucket
	numbers [1 << numberBits]byte // their addresses represent bucket numbers: a pointer is a map key without a box
	writers [256]struct {
		sync.Mutex
		version kvs.Version // of the last write; guarded by the Mutex
		_       [prefetch.Line - 12]byte
	}
	length atomic.Int64
}

const numberBits = 12

// NewSyncMap returns an empty engine.
func NewSyncMap() *SyncMap {
	return &SyncMap{seed: maphash.MakeSeed(), hash: maphash.Bytes}
}

// Len returns the number of keys.
func (m *SyncMap) Len() int { return int(m.length.Load()) }

// bucket returns the bucket of a hash.
func (m *SyncMap) bucket(hash uint64) *bucket {
	if b, ok := m.buckets.Load(&m.numbers[hash>>(64-numberBits)]); ok {
		return b.(*bucket)
	}
	return empty
}

// group is how many operations are looked up together.
const group = 32

// lookup is the state of one operation of a group.
type lookup struct {
	hash   uint64
	bucket *bucket
	place  int // the key's probable place in the bucket, or -1
}

// Apply executes ops in order; see kvs.Engine.
func (m *SyncMap) Apply(ops []kvs.Op, reply *kvs.Reply) {
	var found [group]lookup
	for ; len(ops) > group; ops = ops[group:] {
		m.apply(ops[:group], found[:], reply)
	}
	m.apply(ops, found[:len(ops)], reply)
}

func (m *SyncMap) apply(ops []kvs.Op, found []lookup, reply *kvs.Reply) {
	if len(ops) > 1 {
		m.fetch(ops, found)
	} else {
		m.find(ops, found)
	}
	for i := range ops {
		if ops[i].Kind == kvs.Get {
			m.read(&ops[i], &found[i], reply)
		} else {
			m.write(&ops[i], found[i].hash, reply)
		}
	}
}

// find looks up each operation's key.
func (m *SyncMap) find(ops []kvs.Op, found []lookup) {
	for i := range ops {
		f := &found[i]
		f.hash = m.hash(m.seed, ops[i].Key)
		f.bucket = m.bucket(f.hash)
		f.place = f.bucket.first(f.hash)
	}
}

// fetch is find in passes. Each pass prefetches the lines that the next pass reads, for
// all operations.
func (m *SyncMap) fetch(ops []kvs.Op, found []lookup) {
	var lines prefetch.List
	for i := range ops {
		f := &found[i]
		f.hash = m.hash(m.seed, ops[i].Key)
		f.bucket = m.bucket(f.hash)
		prefetch.Add(&lines, f.bucket)
	}
	lines.Fetch()
	for i := range found {
		found[i].bucket.fetch(found[i].hash, &lines)
	}
	lines.Fetch()
	for i := range found {
		f := &found[i]
		if f.place = f.bucket.first(f.hash); f.place >= 0 {
			f.bucket.blocks[f.place].Load().fetch(&lines)
		}
	}
	lines.Fetch()
}

// read executes a Get. The lookup may be stale: an earlier operation of the batch or
// another goroutine may have written since.
func (m *SyncMap) read(op *kvs.Op, f *lookup, reply *kvs.Reply) {
	b, place := f.bucket, f.place
	if place < 0 || b.replaced.Load() {
		b = m.bucket(f.hash)
		place = b.first(f.hash)
	}
	for ; place >= 0; place = b.next(f.hash, place) {
		block := b.blocks[place].Load()
		if key, value := block.contents(); string(key) == string(op.Key) {
			if reply.Versioned() {
				reply.FoundVersion(key, value, block.version())
			} else {
				reply.Found(value)
			}
			return
		}
	}
	reply.Missing()
}

// write executes an operation of another kind than Get.
func (m *SyncMap) write(op *kvs.Op, hash uint64, reply *kvs.Reply) {
	block := deleted
	if op.Kind != kvs.Delete {
		block = newBlock(op.Key, op.Value)
	}
	old := m.store(hash, op.Key, block)
	var key, value []byte
	var was kvs.Version
	if old != nil {
		key, value = old.contents()
		was = old.version()
	}
	switch {
	case old == nil && block != deleted:
		m.length.Add(1)
	case old != nil && block == deleted:
		m.length.Add(-1)
	}
	if reply.Versioned() {
		reply.AnswerVersion(op.Kind, key, value, old != nil, was, block.version())
	} else {
		reply.Answer(op.Kind, value, old != nil)
	}
}

// store replaces the block of a key, by deleted to delete it. It returns the old one, or
// nil for a new key.
func (m *SyncMap) store(hash uint64, key []byte, block *block) *block {
	number := hash >> (64 - numberBits)
	writer := &m.writers[number%uint64(len(m.writers))]
	writer.Lock()
	defer writer.Unlock()
	if block != deleted {
		block.stamp(writer.version.Next())
	}
	b, free := m.bucket(hash), -1
	for place := b.first(hash); place >= 0; place = b.next(hash, place) {
		old := b.blocks[place].Load()
		if k, _ := old.contents(); string(k) == string(key) {
			b.blocks[place].Store(block)
			return old
		}
		if old == deleted {
			free = place
		}
	}
	switch {
	case block == deleted:
	case free >= 0:
		b.blocks[free].Store(block)
	case !b.add(hash, block):
		larger := b.grown(func(key []byte) uint64 { return m.hash(m.seed, key) })
		larger.add(hash, block)
		m.buckets.Store(&m.numbers[number], larger)
		b.replaced.Store(true)
	}
	return nil
}
