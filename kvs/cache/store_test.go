package cache

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
)

// keyOf returns the key of an id: a number, with a prefix, too long a number, one of a zero too
// many, or of 255 bytes.
func keyOf(id int) []byte {
	text := strconv.Itoa(id)
	switch id % 5 {
	case 1:
		return []byte("user" + text)
	case 2:
		return fmt.Appendf(nil, "9%018d", id)
	case 3:
		return []byte("0" + text)
	case 4:
		return fmt.Appendf(bytes.Repeat([]byte("k"), kvs.MaxKeyLen-9), "%09d", id)
	}
	return []byte(text)
}

// valueOf returns the value that a version of a key has here, of 0 to longest bytes.
func valueOf(number uint64, version kvs.Version, longest int) []byte {
	random := rand.New(rand.NewPCG(number, uint64(version)))
	return kvstest.RandomBytes(random, random.IntN(longest+1))
}

// lookUp returns find and load.
func (s *Store) lookUp(number uint64) ([]byte, kvs.Version) {
	place := s.find(number)
	if place < 0 {
		return nil, 0
	}
	before := []byte("before")
	value, version := s.load(place, number, before)
	if !bytes.HasPrefix(value, before) {
		panic("load does not append")
	}
	return value[len(before):], version
}

// A Store with an entry for each of ids holds what a map holds that takes a later version
// in place of an earlier one; it holds a value as long as the longest, and none that is longer.
func TestStoreOfAll(t *testing.T) {
	random := kvstest.NewRandom(t)
	for _, longest := range []int{0, 1, 7, 8, 9, 100, 128, 1000} {
		for _, ids := range []uint64{1, 2, 7, 8, 9, 100, 1001} {
			s := NewStore(ids, longest)
			want := make(map[uint64]kvs.Version)
			for range 20 * ids {
				number := s.number(strconv.AppendUint(nil, random.Uint64N(ids), 10))
				version := kvs.Version(random.IntN(50))
				value := valueOf(number, version, longest)
				if random.IntN(20) == 0 {
					value = make([]byte, longest+1+random.IntN(100))
				} else if version > want[number] {
					want[number] = version
				}
				s.keep(number, version, value)
			}
			for id := range ids {
				number := s.number(strconv.AppendUint(nil, id, 10))
				value, version := s.lookUp(number)
				if version != want[number] || version > 0 && !bytes.Equal(value, valueOf(number, version, longest)) {
					t.Fatalf("%d ids, values to %d bytes: id %d has version %d and %d bytes, want version %d", ids, longest, id, version, len(value), want[number])
				}
			}
		}
	}
}

// A Store that is too small, or of keys that are no numbers, forgets: but what it returns is
// a value with its own version, which has been kept.
func TestStoreForgets(t *testing.T) {
	random := kvstest.NewRandom(t)
	for _, entries := range []uint64{0, 1, 8, 20, 100} {
		const longest = 33
		s := NewStore(entries, longest)
		kept := make(map[uint64]kvs.Version)
		held := 0
		for range 5000 {
			number := s.number(keyOf(random.IntN(150)))
			if value, version := s.lookUp(number); version > kept[number] || version > 0 && !bytes.Equal(value, valueOf(number, version, longest)) {
				t.Fatalf("%d entries: version %d, of which %d is the latest", entries, version, kept[number])
			} else if version > 0 {
				held++
			}
			kept[number] += kvs.Version(random.IntN(2))
			s.keep(number, kept[number], valueOf(number, kept[number], longest))
		}
		if len(kept) != 150 || held == 0 {
			t.Errorf("%d entries: %d keys have %d numbers, %d values were held", entries, 150, len(kept), held)
		}
	}
}

// Workers that keep and read at the same time never get a torn value, one with another's
// version, or one that nobody has kept. A Store of the size all then holds every key.
func TestStoreShared(t *testing.T) {
	for _, test := range []struct {
		name    string
		ids     int
		entries uint64
		key     func(id int) []byte
	}{
		{"one key", 1, 1, keyOf}, {"one set, all", 8, 8, number}, {"all", 100, 100, number}, {"evicting", 100, 16, keyOf},
	} {
		t.Run(test.name, func(t *testing.T) {
			const longest, workers, rounds = 61, 4, 2000
			random := kvstest.NewRandom(t)
			s := NewStore(test.entries, longest)
			versions := make([]atomic.Uint32, test.ids)
			var running sync.WaitGroup
			for range workers {
				random := rand.New(rand.NewPCG(random.Uint64(), 0))
				running.Go(func() {
					for range rounds {
						id := random.IntN(test.ids)
						number := s.number(test.key(id))
						if value, version := s.lookUp(number); uint32(version) > versions[id].Load() || version > 0 && !bytes.Equal(value, valueOf(number, version, longest)) {
							t.Errorf("id %d has version %d with %q", id, version, value)
							return
						}
						if version := kvs.Version(versions[id].Add(uint32(random.IntN(2)))); version > 0 {
							s.keep(number, version, valueOf(number, version, longest))
						}
					}
				})
			}
			running.Wait()
			if test.entries < uint64(test.ids) {
				return
			}
			for id := range test.ids {
				number := s.number(test.key(id))
				s.keep(number, 1<<31, nil)
			}
			for id := range test.ids {
				if _, version := s.lookUp(s.number(test.key(id))); version != 1<<31 {
					t.Errorf("id %d is not held", id)
				}
			}
		})
	}
}

func number(id int) []byte { return strconv.AppendInt(nil, int64(id), 10) }

// Nothing is allocated for an operation.
func TestStoreAllocations(t *testing.T) {
	s, value, dst := NewStore(100, 100), make([]byte, 99), make([]byte, 0, 104)
	key, version := []byte("user1"), kvs.Version(0)
	if n := testing.AllocsPerRun(100, func() {
		version++
		number := s.number(key)
		s.keep(number, version, value)
		if place := s.find(number); place >= 0 {
			dst, _ = s.load(place, number, dst[:0])
		}
	}); n != 0 || len(dst) != len(value) {
		t.Errorf("%v allocations, and a value of %d bytes", n, len(dst))
	}
}
