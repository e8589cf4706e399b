package engine

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
	"kvlab/kvs/engine/enginetest"
)

// Every engine passes the suite. Package slab has its own suite, whose engines populate no
// memory ahead: here its engines pass that of versions, while they do.
func TestEngines(t *testing.T) {
	for _, row := range rows {
		if row.NoStore {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			open := func() kvs.Engine { return opened(t, row.Name, Options{}) }
			if row.Name != "slab" {
				enginetest.Run(t, row.Lacks, open)
			}
			if row.Versions {
				t.Run("versions", func(t *testing.T) { enginetest.RunVersions(t, open) })
			}
		})
	}
}

// opened returns an empty engine.
func opened(t testing.TB, name string, o Options) kvs.Engine {
	t.Helper()
	e, err := Open(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// SyncMap with hashes that collide: its rare path is as right as the other.
func TestSyncMapCollisions(t *testing.T) {
	hashes := map[string]func(maphash.Seed, []byte) uint64{
		"all": func(maphash.Seed, []byte) uint64 { return 1<<63 | 7 },
		"half": func(seed maphash.Seed, key []byte) uint64 {
			if len(key)%2 == 0 {
				return 0
			}
			return maphash.Bytes(seed, key)
		},
		"by four": func(seed maphash.Seed, key []byte) uint64 { return maphash.Bytes(seed, key) & 3 },
	}
	for name, hash := range hashes {
		t.Run(name, func(t *testing.T) {
			enginetest.Run(t, scans, func() kvs.Engine {
				m := NewSyncMap()
				m.hash = hash
				return m
			})
		})
	}
}

// Versions go on while the one bucket of all keys grows.
func TestSyncMapVersions(t *testing.T) {
	enginetest.RunVersions(t, func() kvs.Engine {
		m := NewSyncMap()
		m.hash = func(seed maphash.Seed, key []byte) uint64 { return maphash.Bytes(seed, key) >> numberBits }
		return m
	})
}

// A counter that has reached its end stamps no version, and such a value is never unchanged.
func TestSyncMapLastVersion(t *testing.T) {
	m := NewSyncMap()
	for i := range m.writers {
		m.writers[i].version = math.MaxUint32 - 10
	}
	if none, err := enginetest.CheckVersions(m, kvstest.NewRandom(t), 500, 20_000); err != nil || none < 5000 {
		t.Errorf("%d writes have no version; error %v", none, err)
	}
}

// A Get with versions allocates nothing, unchanged or not.
func TestVersionAllocations(t *testing.T) {
	held := make([]kvs.Version, 100)
	for i := range held {
		held[i] = kvs.Version(i % 2)
	}
	for _, row := range rows {
		if !row.Versions {
			continue
		}
		e := enginetest.Load(opened(t, row.Name, Options{}), 100)
		var ops []kvs.Op
		for id := range held {
			ops = append(ops, kvs.Op{Kind: kvs.Get, Key: enginetest.Key(id)})
		}
		var reply kvs.Reply
		get := func() {
			reply.Reset()
			reply.AddVersions()
			reply.Hold(held)
			e.Apply(ops, &reply)
			reply.EndVersions()
		}
		get()
		if n := testing.AllocsPerRun(100, get); n >= 1 { // a collection may empty the pool
			t.Errorf("%s: %v allocations for 100 Gets", row.Name, n)
		}
	}
}

// Every engine has versions, or refuses a client that wants them and names those that have.
func TestCheckVersions(t *testing.T) {
	for _, row := range rows {
		want := fmt.Sprintf("-engine %s keeps no versions of its values: want -engine syncmap or slab", row.Name)
		if err := row.CheckVersions(); row.Versions != (err == nil) || err != nil && err.Error() != want {
			t.Errorf("%s: error %v, versions %t", row.Name, err, row.Versions)
		}
	}
}

// Every row opens an empty engine, and an unknown name is refused.
func TestOpen(t *testing.T) {
	for _, row := range rows {
		if e := opened(t, row.Name, Options{Records: 10_000}); e == nil || e.Len() != 0 || !strings.Contains(Usage(), row.Name) {
			t.Errorf("%s: %v", row.Name, e)
		}
		if slices.Contains(Names, row.Name) == row.NoStore {
			t.Errorf("%s: Names is %q", row.Name, Names)
		}
	}
	if _, err := Open("redis", Options{}); err == nil || !strings.HasPrefix(err.Error(), `-engine "redis": want one of`) {
		t.Errorf("error %v, want one that names -engine and the choices", err)
	}
}

// Blocks of all lengths around a word's give back what was put in, whatever their version.
func TestBlock(t *testing.T) {
	for klen := 1; klen <= kvs.MaxKeyLen; klen += 6 {
		for _, vlen := range []int{0, 1, 7, 8, 9, 128, kvs.MaxValueLen} {
			key, value := bytes.Repeat([]byte{'k'}, klen), bytes.Repeat([]byte{'v'}, vlen)
			for _, version := range []kvs.Version{0, 1, 1 << 31, math.MaxUint32} {
				b := newBlock(key, value)
				b.stamp(version)
				if k, v := b.contents(); b.version() != version || !bytes.Equal(k, key) || !bytes.Equal(v, value) {
					t.Fatalf("a block of %d and %d bytes at version %d: %d and %d back at %d", klen, vlen, version, len(k), len(v), b.version())
				}
			}
		}
	}
}

// A Get that hits allocates nothing, a Put only its block and the map's entry.
func TestSyncMapAllocations(t *testing.T) {
	m := NewSyncMap()
	var reply kvs.Reply
	ops := map[kvs.Kind][]kvs.Op{}
	for i := range 100 {
		key := fmt.Appendf(nil, "user%d", i)
		ops[kvs.Get] = append(ops[kvs.Get], kvs.Op{Kind: kvs.Get, Key: key})
		ops[kvs.Put] = append(ops[kvs.Put], kvs.Op{Kind: kvs.Put, Key: key, Value: make([]byte, 128)})
	}
	apply := func(kind kvs.Kind) func() {
		return func() {
			reply.Reset()
			m.Apply(ops[kind], &reply)
		}
	}
	apply(kvs.Put)()
	apply(kvs.Get)()
	if n := testing.AllocsPerRun(20, apply(kvs.Get)); n != 0 {
		t.Errorf("%v allocations for 100 Gets", n)
	}
	if n := testing.AllocsPerRun(20, apply(kvs.Put)); n > 200 {
		t.Errorf("%v allocations for 100 Puts, want at most two each", n)
	}
}

// Keys that come back take the places that they had. With new keys instead buckets stay in
// bounds: one is doubled only if more than 3/8 of its places are of keys that are there. One
// bucket in 16 has keys, some 24.
func TestSyncMapDeleting(t *testing.T) {
	m := NewSyncMap()
	m.hash = func(seed maphash.Seed, key []byte) uint64 { return maphash.Bytes(seed, key) >> 4 }
	const keys, generations, step = 6000, 10, 100
	var reply kvs.Reply
	each := func(kind kvs.Kind, from, end int) {
		var ops []kvs.Op
		for i := from; i < end; i++ {
			ops = append(ops, kvs.Op{Kind: kind, Key: fmt.Append(nil, i)})
		}
		reply.Reset()
		m.Apply(ops, &reply)
	}
	size := func() (used, places int) {
		m.buckets.Range(func(_, b any) bool {
			used += b.(*bucket).used
			places += len(b.(*bucket).tags)
			return true
		})
		return used, places
	}
	each(kvs.Insert, 0, keys)
	each(kvs.Delete, 0, keys/100)
	each(kvs.Insert, 0, keys/100)
	if used, _ := size(); used != keys {
		t.Errorf("%d keys, of which some came back, take %d places", keys, used)
	}
	for from := 0; from < generations*keys; from += step {
		each(kvs.Delete, from, from+step)
		each(kvs.Insert, keys+from, keys+from+step)
	}
	if _, places := size(); places > 8*keys || m.Len() != keys {
		t.Errorf("%d places for %d keys, of which %d are counted", places, keys, m.Len())
	}
}

func BenchmarkEngine(b *testing.B) {
	for _, name := range Names {
		b.Run("engine="+name, func(b *testing.B) {
			enginetest.Bench(b, func() kvs.Engine { return opened(b, name, Options{}) })
		})
	}
}

func BenchmarkScan(b *testing.B) {
	for _, row := range rows {
		if !slices.Contains(row.Lacks, kvs.Scan) {
			b.Run("engine="+row.Name, func(b *testing.B) { enginetest.BenchScan(b, opened(b, row.Name, Options{})) })
		}
	}
}
