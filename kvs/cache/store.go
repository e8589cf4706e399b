package cache

import (
	"encoding/binary"
	"hash/maphash"
	"sync/atomic"

	"kvlab/kvs"
	"kvlab/kvs/engine/prefetch"
)

// Store holds values by key, each with its version, for all workers of a client. It is a
// set-associative cache in memory without pointers: a key's number selects a set of ways
// tags, which fill a line, and one of them names the entry. It is safe for concurrent use,
// and takes no lock that another goroutine waits for.
//
// An entry that changes while it is read, or is being changed by another worker, is as if
// it were not there. So the Store may forget, but never returns a value with a version
// that it did not come with.
type Store struct {
	sets  uint64
	tags  []uint64 // by set and way: a key's number; 0 for none
	words []uint64 // of the entries, in the order of the tags
	entry int      // words of an entry
	most  int      // bytes of the longest value that an entry holds
	seed  maphash.Seed
}

// An entry holds the words of state, number and version before those of the value. It is a
// sequence lock: its state is odd while the entry is written, and then greater than before.
// H.-J. Boehm: "Can seqlocks get along with programming language memory models?", MSPC 2012,
// shows why each word is read atomically.
const (
	ways       = prefetch.Line / 8
	header     = 3
	lengthBits = 24 // of the state: the value's length; the count is above
)

// NewStore returns an empty Store of entries for values of at most longest bytes, at least
// as many as asked for.
func NewStore(entries uint64, longest int) *Store {
	s := &Store{sets: max(1, (entries+ways-1)/ways), most: longest, entry: header + (longest+7)/8, seed: maphash.MakeSeed()}
	s.tags = make([]uint64, s.sets*ways)
	s.words = make([]uint64, s.sets*ways*uint64(s.entry))
	return s
}

// EntryBytes returns the memory of an entry for values of at most longest bytes.
func EntryBytes(longest int) uint64 { return uint64(1+header+(longest+7)/8) * 8 }

// Bytes returns the memory of the Store.
func (s *Store) Bytes() uint64 { return uint64(len(s.tags)+len(s.words)) * 8 }

// number returns a key's number in the store: an exact one for keys that are numbers, and
// else a hash of 63 bits, which two of 10^6 keys share with a probability of 5e-8. Such keys
// replace each other. If both have the same version at the server too, one may be answered
// with the other's value, which the client's check of values finds.
func (s *Store) number(key []byte) uint64 {
	if n, ok := kvs.Number(key); ok {
		return n + 1
	}
	return maphash.Bytes(s.seed, key) | 1<<63
}

func (s *Store) set(number uint64) []uint64 {
	first := number % s.sets * ways
	return s.tags[first : first+ways : first+ways]
}

func (s *Store) at(place int) []uint64 { return s.words[place*s.entry : (place+1)*s.entry] }

// find returns the place of a number's entry, or -1.
func (s *Store) find(number uint64) int {
	set := s.set(number)
	for way := range set {
		if atomic.LoadUint64(&set[way]) == number {
			return int(number%s.sets)*ways + way
		}
	}
	return -1
}

// load appends the value at a place, and returns its version; 0 if the number's value is
// not there.
func (s *Store) load(place int, number uint64, dst []byte) ([]byte, kvs.Version) {
	e := s.at(place)
	state := atomic.LoadUint64(&e[0])
	if state>>lengthBits&1 != 0 || atomic.LoadUint64(&e[1]) != number {
		return dst, 0
	}
	version := kvs.Version(atomic.LoadUint64(&e[2]))
	length, from := int(state&(1<<lengthBits-1)), len(dst)
	for i := 0; i < length; i += 8 {
		dst = binary.LittleEndian.AppendUint64(dst, atomic.LoadUint64(&e[header+i/8]))
	}
	if atomic.LoadUint64(&e[0]) != state {
		return dst[:from], 0
	}
	return dst[:from+length], version
}

// keep stores a value, unless the Store has a later one, or one that is too long, or another
// worker writes in its place.
func (s *Store) keep(number uint64, version kvs.Version, value []byte) {
	if version == 0 || len(value) > s.most {
		return
	}
	place := s.find(number)
	if place < 0 {
		place = s.take(number)
	}
	e := s.at(place)
	state := atomic.LoadUint64(&e[0])
	count := state >> lengthBits
	if count&1 != 0 || !atomic.CompareAndSwapUint64(&e[0], state, (count+1)<<lengthBits) {
		return
	}
	length := state & (1<<lengthBits - 1)
	if atomic.LoadUint64(&e[1]) != number || kvs.Version(atomic.LoadUint64(&e[2])) < version {
		atomic.StoreUint64(&e[1], number)
		atomic.StoreUint64(&e[2], uint64(version))
		var last [8]byte
		for i := 0; i < len(value); i += 8 {
			piece := value[i:]
			if len(piece) < 8 {
				copy(last[:], piece)
				piece = last[:]
			}
			atomic.StoreUint64(&e[header+i/8], binary.LittleEndian.Uint64(piece))
		}
		length = uint64(len(value))
	}
	atomic.StoreUint64(&e[0], (count+2)<<lengthBits|length)
}

// take gives the number a place in its set: a free one, or another key's. It first tries a
// place that no other number has among as many successive numbers as the Store has entries.
// So two workers that add two such keys at once take two places.
func (s *Store) take(number uint64) int {
	set := s.set(number)
	own := number / s.sets % ways
	way := own
	for i := range uint64(ways) {
		if tag := atomic.LoadUint64(&set[(own+i)%ways]); tag == 0 || tag == number {
			way = (own + i) % ways
			break
		}
	}
	atomic.StoreUint64(&set[way], number)
	return int(number%s.sets*ways + way)
}
