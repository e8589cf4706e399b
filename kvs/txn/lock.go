package txn

import (
	"runtime"
	"slices"

	"kvlab/kvs"
	"kvlab/kvs/route"
)

// A word of the lock table holds, from the lowest bit:
//
//	version  42 bits  transactions that wrote a key of the word
//	readers  20 bits  prepared attempts that read one, and write none
//	writer   1 bit    a prepared attempt writes one
//	brief    1 bit    a Run holds it, for reading or writing
const (
	wordBits    = 20
	versionBits = 42
	oneReader   = 1 << versionBits
	readers     = (1<<20 - 1) * oneReader
	writer      = 1 << 62
	brief       = 1 << 63
)

// lock is a lock on a word that an attempt or a Run holds or wants.
type lock struct {
	word  uint32
	write bool
	was   uint64 // the version when it was taken
}

// word returns a key's word. A factor makes its bits depend on all bits of the hash, a part of
// which is the same for all keys of a server.
func (t *Table) word(key []byte) uint32 {
	return uint32(route.Hash(key) * 0x9e3779b97f4a7c15 >> t.shift)
}

// writes reports whether an operation changes the store.
func writes(kind kvs.Kind) bool { return kind.Writes() || kind == kvs.Delete }

// locksOf appends the locks that operations need, one a word, in the order of the words.
func locksOf(locks []lock, ops []kvs.Op, words []uint32) []lock {
	for i := range ops {
		write := writes(ops[i].Kind)
		if at, found := find(locks, words[i]); found {
			locks[at].write = locks[at].write || write
		} else {
			locks = slices.Insert(locks, at, lock{word: words[i], write: write})
		}
	}
	return locks
}

// find returns where a word's lock is, or belongs.
func find(locks []lock, word uint32) (at int, found bool) {
	return slices.BinarySearchFunc(locks, word, func(l lock, word uint32) int { return int(l.word) - int(word) })
}

// acquire takes all locks, or none.
func (t *Table) acquire(locks []lock, briefly bool) bool {
	for i := range locks {
		if !t.take(&locks[i], briefly) {
			t.release(locks[:i], briefly, false)
			return false
		}
	}
	return true
}

// take takes a lock, after every Run that holds it. It fails if a prepared attempt holds it.
func (t *Table) take(l *lock, briefly bool) bool {
	word := &t.words[l.word]
	for tries := 1; ; tries++ {
		w := word.Load()
		if w&brief != 0 {
			if tries%64 == 0 {
				runtime.Gosched()
			}
			continue
		}
		if w&writer != 0 || l.write && w&readers != 0 || !briefly && !l.write && w&readers == readers {
			return false
		}
		next := w + oneReader
		switch {
		case briefly:
			next = w | brief
		case l.write:
			next = w | writer
		}
		if word.CompareAndSwap(w, next) {
			l.was = w & (oneReader - 1)
			return true
		}
	}
}

// release frees locks, and counts a version of each word that was written.
func (t *Table) release(locks []lock, briefly, written bool) {
	for _, l := range locks {
		held := uint64(oneReader)
		switch {
		case briefly:
			held = brief
		case l.write:
			held = writer
		}
		if written && l.write {
			held--
		}
		t.words[l.word].Add(-held)
	}
}

// versionOf returns what an operation is told of the order of its key, which has a word: a read
// one more than the number of transactions that wrote the word, and a write one more than that.
func versionOf(locks []lock, kind kvs.Kind, word uint32) uint64 {
	at, _ := find(locks, word)
	if writes(kind) {
		return locks[at].was + 2
	}
	return locks[at].was + 1
}
