package slab

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
	"kvlab/kvs/engine/enginetest"
)

// scans are the kinds that an Engine lacks.
var scans = []kvs.Kind{kvs.Scan, kvs.ScanPart}

func open(t testing.TB) *Engine {
	t.Helper()
	return opened(t, 0)
}

// opened returns an empty engine for some records that populates no memory ahead: a test
// opens hundreds of engines, and uses little of each.
func opened(t testing.TB, records uint64) *Engine {
	t.Helper()
	e, err := New(records)
	if err != nil {
		t.Fatal(err)
	}
	e.arena.ahead.close()
	return e
}

// put stores a value of size times the byte b under every key of from to end.
func put(e *Engine, from, end, size int, b byte) {
	each(e, kvs.Put, from, end, bytes.Repeat([]byte{b}, size))
}

// remove deletes every key of from to end.
func remove(e *Engine, from, end int) { each(e, kvs.Delete, from, end, nil) }

// each applies an operation to every key of from to end.
func each(e *Engine, kind kvs.Kind, from, end int, value []byte) {
	ops := make([]kvs.Op, 0, window)
	var reply kvs.Reply
	reply.Reset()
	for from < end {
		ops = ops[:0]
		for ; from < end && len(ops) < window; from++ {
			ops = append(ops, kvs.Op{Kind: kind, Key: strconv.AppendInt(nil, int64(from), 10), Value: value})
		}
		e.Apply(ops, &reply)
		reply.Reset()
	}
	reply.Free()
}

// get returns the value of a key.
func get(t testing.TB, e *Engine, key int) ([]byte, bool) {
	t.Helper()
	var reply kvs.Reply
	reply.Reset()
	e.Apply([]kvs.Op{{Kind: kvs.Get, Key: strconv.AppendInt(nil, int64(key), 10)}}, &reply)
	results := reply.Results()
	r, err := results.Next()
	if err != nil {
		t.Fatal(err)
	}
	return r.Value, r.Found
}

// used returns the arena's memory in bytes that was ever handed out.
func (e *Engine) used() int {
	e.arena.mu.Lock()
	defer e.arena.mu.Unlock()
	return int(e.arena.next) * 8
}

func TestEngine(t *testing.T) {
	enginetest.Run(t, scans, func() kvs.Engine { return open(t) })
}

// Keys that share their slot, their tag or their segment are told apart.
func TestCollisions(t *testing.T) {
	for name, mask := range map[string]uint64{
		"one hash":            0,
		"one tag":             ^uint64(0xffff),
		"one slot":            ^uint64(0xffffffff),
		"at a segment's end":  0xffff<<48 | 0xffff,
		"few hashes, any tag": 0xff,
	} {
		t.Run(name, func(t *testing.T) {
			open := func() kvs.Engine {
				e := open(t)
				e.hash = func(seed maphash.Seed, key []byte) uint64 {
					return maphash.Bytes(seed, key)&mask | ^mask&0x00fffffffffffff0
				}
				return e
			}
			enginetest.Run(t, scans, open)
			if mask>>48 != 0 { // else no split parts the keys
				t.Run("versions", func(t *testing.T) { enginetest.RunVersions(t, open) })
			}
		})
	}
}

// openDeep returns an engine whose hashes agree in their first ten bits: segments take eleven
// splits to part its keys.
func openDeep(t testing.TB) *Engine {
	e := open(t)
	e.hash = func(seed maphash.Seed, key []byte) uint64 { return maphash.Bytes(seed, key)>>10 | 0x2a<<54 }
	return e
}

// Versions go on over splits.
func TestVersions(t *testing.T) {
	enginetest.RunVersions(t, func() kvs.Engine { return openDeep(t) })
}

// A counter that has reached its end stamps no version, after a split too.
func TestLastVersion(t *testing.T) {
	e := openDeep(t)
	e.index.segment(0x2a << 54).version = math.MaxUint32 - 2000
	if none, err := enginetest.CheckVersions(e, kvstest.NewRandom(t), 20_000, 40_000); err != nil || none < 5000 {
		t.Errorf("%d writes have no version; error %v", none, err)
	}
	if n := len(e.index.table.Load().entries); n <= 64 {
		t.Errorf("%d segments: none was split", n)
	}
}

// An engine that expects its records begins with segments for them, and finds them.
func TestExpectedRecords(t *testing.T) {
	const records = 300_000
	e := opened(t, records)
	before := len(e.index.table.Load().entries)
	put(e, 0, records, 16, 7)
	if after := len(e.index.table.Load().entries); before != 128 || after != 128 {
		t.Errorf("%d segments, %d after %d records; want 128", before, after, records)
	}
	for records, want := range map[uint64]uint{0: 6, 1_000_000: 9, 1 << 63: 16} {
		if bits := bitsFor(records); bits != want {
			t.Errorf("%d records: %d bits, want %d", records, bits, want)
		}
	}
	checkSegments(t, e, records)
	for key := 0; key < records; key += 97 {
		if value, ok := get(t, e, key); !ok || len(value) != 16 || value[0] != 7 {
			t.Fatalf("key %d: %v, %v", key, value, ok)
		}
	}
}

// Splits part keys whose hashes begin alike.
func TestDeepSplit(t *testing.T) {
	e := openDeep(t)
	const records = 3 * segmentFull
	put(e, 0, records, 16, 7)
	for key := range records {
		if value, ok := get(t, e, key); !ok || len(value) != 16 {
			t.Fatalf("key %d: %v, %v", key, value, ok)
		}
	}
	if depth := 64 - e.index.table.Load().shift; depth < 12 || e.Len() != records {
		t.Errorf("depth %d, %d keys; want at least 12, and %d", depth, e.Len(), records)
	}
}

// While every segment of the index splits, every key that was stored before is found, by
// readers who do not wait.
func TestGrowthUnderReaders(t *testing.T) {
	e := open(t)
	const records, writers, readers = 120_000, 2, 2 // the first segments hold 190,000
	var stored [writers]atomic.Int64
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			const step = 500
			for from := 0; from < records; from += step {
				put(e, w*records+from, w*records+from+step, 8, byte(w))
				stored[w].Store(int64(from + step))
			}
		})
	}
	for r := range readers {
		random := rand.New(rand.NewPCG(uint64(r), 0))
		group.Go(func() {
			for w := 0; ; w = (w + 1) % writers {
				n := stored[w].Load()
				if n == records {
					return
				}
				if n == 0 {
					continue
				}
				key := w*records + random.IntN(int(n))
				if value, ok := get(t, e, key); !ok || len(value) != 8 || value[0] != byte(w) {
					t.Errorf("key %d: %v, %v", key, value, ok)
					return
				}
			}
		})
	}
	group.Wait()
	if got, want := e.Len(), writers*records; got != want {
		t.Errorf("Len() = %d, want %d", got, want)
	}
	if n := len(e.index.table.Load().entries); n < writers*records/segmentFull {
		t.Errorf("%d segments' entries for %d keys", n, writers*records)
	}
}

// An overwritten record's memory is used again: the arena stays as large as one
// generation and what waits to be free, however often and by whatever other
// length records are replaced.
func TestOverwritingReusesMemory(t *testing.T) {
	e := open(t)
	const records = 5_000
	sizes := []int{10, 128, 1000, 40}
	for _, size := range sizes {
		put(e, 0, records, size, 1)
	}
	first := e.used()
	for round := range 20 {
		for _, size := range sizes {
			put(e, 0, records, size, byte(round))
		}
	}
	if last := e.used(); last > first+first/4+2*enoughBytes {
		t.Errorf("%d bytes in use after one round of lengths, %d after twenty", first, last)
	}
	for key := range records {
		if value, ok := get(t, e, key); !ok || len(value) != 40 || value[0] != 19 {
			t.Fatalf("key %d: %d bytes, %v", key, len(value), ok)
		}
	}
}

// The memory of deleted records, and their slots, are used again, also by other keys: the
// arena stays as large as what was there at a time, but that each segment may split once
// more.
func TestDeletingReusesMemory(t *testing.T) {
	e := open(t)
	const records, generations = 150_000, 6
	put(e, 0, records, 100, 1)
	first := e.used()
	const step = 1000
	for from := 0; from < generations*records; from += step {
		remove(e, from, from+step)
		put(e, records+from, records+from+step, 100, 1)
	}
	if last := e.used(); last > first+first/4+2*enoughBytes {
		t.Errorf("%d bytes in use after one generation of keys, %d after %d", first, last, generations)
	}
	checkSegments(t, e, records)
	remove(e, generations*records, (generations+1)*records)
	for _, key := range []int{0, records, generations * records, (generations+1)*records - 1} {
		if value, ok := get(t, e, key); ok {
			t.Errorf("deleted key %d has %d bytes", key, len(value))
		}
	}
	checkSegments(t, e, 0)
}

// checkSegments compares what the segments count with their slots, and both with the number
// of keys.
func checkSegments(t *testing.T, e *Engine, records int) {
	t.Helper()
	seen, keys := map[*segment]bool{}, 0
	d := e.index.table.Load()
	for i := range d.entries {
		s := d.entries[i].Load()
		if seen[s] {
			continue
		}
		seen[s] = true
		var count, gone int32
		for _, slot := range s.slots {
			if slot != 0 {
				count++
			}
			if blockOf(slot) == deleted {
				gone++
			}
		}
		if count != s.count || gone != s.deleted {
			t.Fatalf("a segment counts %d slots and %d of deleted keys; it has %d and %d", s.count, s.deleted, count, gone)
		}
		keys += int(count - gone)
	}
	if keys != records || e.Len() != records {
		t.Errorf("%d keys in the segments, Len() = %d, want %d", keys, e.Len(), records)
	}
}

// What a reader has found stays as it is until the reader leaves, whatever is
// written meanwhile; then its memory is used again.
func TestReaderKeepsWhatItFound(t *testing.T) {
	e := open(t)
	put(e, 0, 1, 100, 'a')
	key := []byte("0")
	hash := e.hash(e.seed, key)

	reader := e.epochs.enter(e.arena)
	slot, _ := e.search(e.index.segment(hash), hash, key)
	found := record(e.arena.data(blockOf(slot)))
	for range 1_000 { // and few enough that no writer waits for the reader
		put(e, 0, 1, 100, 'b')
	}
	if want := bytes.Repeat([]byte{'a'}, 100); !bytes.Equal(found.value(), want) {
		t.Fatalf("the record changed under its reader to %q", found.value())
	}
	reader.leave()

	before := e.used()
	for range 20_000 {
		put(e, 0, 1, 100, 'c')
	}
	if after := e.used(); after > before+2*chunkWords*8 {
		t.Errorf("%d bytes in use before 20,000 overwrites, %d after", before, after)
	}
}

// Records of 128 bytes take at most 1.35 bytes for each byte of key and value, at the
// worst moment of growth too: every segment splits twice. BenchmarkLoad measures what the
// system sees, with 10^7 records.
func TestMemory(t *testing.T) {
	e := open(t)
	const most = 500_000
	data, done, worst := 0, 0, 0.0
	for n := 100_000; n <= most; n += n / 20 {
		for key := done; key < n; key++ {
			data += len(strconv.Itoa(key)) + 128
		}
		put(e, done, n, 128, 1)
		done = n
		worst = max(worst, float64(e.used())/float64(data))
	}
	t.Logf("at most %.3f bytes for a byte of key and value", worst)
	if worst > 1.35 {
		t.Errorf("%.3f bytes for a byte of key and value, want at most 1.35", worst)
	}
}

// In steady state no operation allocates.
func TestAllocations(t *testing.T) {
	e := open(t)
	put(e, 0, 1000, 128, 1)
	ops := make([]kvs.Op, 256)
	for i := range ops {
		ops[i] = kvs.Op{Kind: kvs.Kind(i % int(kvs.Delete+1)), Key: fmt.Append(nil, i), Value: make([]byte, 128)}
	}
	var reply kvs.Reply
	apply := func() {
		reply.Reset()
		e.Apply(ops, &reply)
	}
	for range 10 {
		apply()
	}
	if n := testing.AllocsPerRun(100, apply); n >= 1 { // the detector makes sync.Pool forget
		t.Errorf("%v allocations for %d operations", n, len(ops))
	}
}
