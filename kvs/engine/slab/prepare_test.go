package slab

import (
	"sync"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine/enginetest"
)

// segments is how many there are.
func (e *Engine) segments() int {
	distinct := map[*segment]bool{}
	d := e.index.table.Load()
	for i := range d.entries {
		distinct[d.entries[i].Load()] = true
	}
	return len(distinct)
}

// A store that was prepared for its records splits next to no segment, and takes
// no more memory than one that grew.
func TestPrepare(t *testing.T) {
	const records, size = 150_000, 16
	grown := open(t)
	put(grown, 0, records, size, 7)
	e := open(t)
	if room, err := e.Prepare(records, size+6, 1<<30); err != nil || room != records {
		t.Fatal(room, err)
	}
	segments, used := e.segments(), e.used()
	if least := records / segmentFull; segments < least || segments > 4*least {
		t.Errorf("%d segments for %d records", segments, records)
	}
	for _, again := range []uint64{records, records / 2, 0} {
		if room, err := e.Prepare(again, size+6, 1<<30); err != nil || room != records || e.used() != used || e.segments() != segments {
			t.Errorf("prepared for %d again: %v; %d segments in %d bytes, %d in %d before", again, err, e.segments(), e.used(), segments, used)
		}
	}
	put(e, 0, records, size, 7)
	if more := e.segments() - segments; more > segments/20+2 {
		t.Errorf("%d of %d segments were split", more, segments)
	}
	if e.used() > grown.used()+grown.used()/8 {
		t.Errorf("%d bytes are in use, and %d in an engine that grew", e.used(), grown.used())
	}
	for key := 0; key < records; key += 7 {
		if value, ok := get(t, e, key); !ok || len(value) != size || value[0] != 7 {
			t.Fatalf("key %d: %v, %v", key, value, ok)
		}
	}
}

// What a forecast makes ready is bounded by what it may take, whatever it says.
func TestPrepareIsBounded(t *testing.T) {
	for _, most := range []uint64{0, 1 << 20, 40 << 20} {
		e := open(t)
		before := uint64(e.used())
		for _, size := range []int{0, 134, kvs.MaxKeyLen + kvs.MaxValueLen} {
			if room, err := e.Prepare(1<<63, size, most); err != nil || room > most/8 {
				t.Fatal(room, err)
			}
		}
		e.arena.mu.Lock()
		next, ready := e.arena.next*8, e.arena.ahead.ready
		e.arena.mu.Unlock()
		if next > before+most {
			t.Errorf("%d bytes are in use, %d before; at most %d more are allowed", next, before, most)
		}
		if ready > max(before+most, next+aheadMost)+(aheadWorkers+1)*aheadStep {
			t.Errorf("%d bytes are ready, %d of them in use; at most %d more are allowed", ready, next, most)
		}
	}
}

// Several prepare an engine for more and more while others store: every key is
// there.
func TestPrepareUnderWriters(t *testing.T) {
	e := open(t)
	const records, writers = 60_000, 3
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() { put(e, w*records/writers, (w+1)*records/writers, 16, byte(w+1)) })
		group.Go(func() {
			for share := range uint64(6) {
				if _, err := e.Prepare(records*(share+1), 22, 1<<28); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for key := range records {
		want := byte(key/(records/writers) + 1)
		if value, ok := get(t, e, key); !ok || len(value) != 16 || value[15] != want {
			t.Fatalf("key %d: %v, %v; want %d", key, value, ok, want)
		}
	}
	if e.Len() != records {
		t.Errorf("%d keys, want %d", e.Len(), records)
	}
}

func TestPreparedEngine(t *testing.T) {
	enginetest.Run(t, func() kvs.Engine {
		e := open(t)
		if _, err := e.Prepare(200_000, 20, 8<<20); err != nil {
			t.Fatal(err)
		}
		return e
	})
}
