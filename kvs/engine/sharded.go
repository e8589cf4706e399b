package engine

import (
	"bytes"
	"hash/maphash"
	"sync"

	"kvlab/kvs"
)

// shardedMap is 1024 maps, each behind a sync.RWMutex. The key's hash selects the map. Most
// lab solutions end with such a store.
type shardedMap struct {
	seed   maphash.Seed
	shards [mapShards]mapShard
}

const mapShards = 1 << 10 // a power of two, many times a node's processors

type mapShard struct {
	mu     sync.RWMutex
	values map[string][]byte // guarded by mu; values are immutable
	_      [32]byte          // keeps locks in separate cache lines
}

// newSharded returns an empty engine.
func newSharded() *shardedMap {
	s := &shardedMap{seed: maphash.MakeSeed()}
	for i := range s.shards {
		s.shards[i].values = map[string][]byte{}
	}
	return s
}

// Len returns the number of keys.
func (s *shardedMap) Len() int {
	n := 0
	for i := range s.shards {
		shard := &s.shards[i]
		shard.mu.RLock()
		n += len(shard.values)
		shard.mu.RUnlock()
	}
	return n
}

// Apply executes ops in order; see kvs.Engine.
func (s *shardedMap) Apply(ops []kvs.Op, reply *kvs.Reply) {
	for i := range ops {
		op := &ops[i]
		shard := &s.shards[maphash.Bytes(s.seed, op.Key)%mapShards]
		var old []byte
		var ok bool
		if op.Kind == kvs.Get {
			shard.mu.RLock()
			old, ok = shard.values[string(op.Key)]
			shard.mu.RUnlock()
		} else {
			value := bytes.Clone(op.Value)
			shard.mu.Lock()
			old, ok = shard.values[string(op.Key)]
			if op.Kind == kvs.Delete {
				delete(shard.values, string(op.Key))
			} else {
				shard.values[string(op.Key)] = value
			}
			shard.mu.Unlock()
		}
		reply.Answer(op.Kind, old, ok)
	}
}
