package disk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/metrics"
)

const (
	writers = 4
	ownKeys = 40 // of each writer: no other writes them
)

// ledger knows what was written under each key, what was acknowledged, and what was read.
type ledger struct {
	acknowledged atomic.Int64 // calls

	mu      sync.Mutex
	entries map[string]*entry // by key; guarded by mu
	last    [writers]metrics.WriteID
}

// entry is what a key may hold: the floor, which was acknowledged or read, or a later write
// that has no answer.
type entry struct {
	floor uint64   // a version; 0: none
	sent  []uint64 // versions above it, in order
}

func newLedger() *ledger {
	l := &ledger{entries: map[string]*entry{}}
	for w := range writers {
		l.last[w] = metrics.MakeWriteID(0, w, 0)
		for i := range ownKeys {
			l.entries[ledgerKey(w, i)] = new(entry)
		}
	}
	return l
}

func ledgerKey(writer, i int) string { return fmt.Sprintf("key%d-%d", writer, i) }

// write returns a new value of a key of a writer's.
func (l *ledger) write(w int, key string) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last[w] = l.last[w].Next()
	v := make([]byte, 128)
	value.Fixed.Put(v, route.Hash([]byte(key)), l.last[w])
	e := l.entries[key]
	e.sent = append(e.sent, uint64(uint32(l.last[w])))
	return v
}

// raise notes that a version was acknowledged, or read: a crash may not undo it.
func (l *ledger) raise(key string, version uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[key]
	if version > e.floor {
		e.floor = version
		e.sent = slices.DeleteFunc(e.sent, func(v uint64) bool { return v <= version })
	}
}

// floors returns what each key holds at least.
func (l *ledger) floors() map[string]uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]uint64{}
	for key, e := range l.entries {
		all[key] = e.floor
	}
	return all
}

// versionOf checks a value of a key, and returns its version; 0 of a key that was not found.
func versionOf(key string, found bool, v []byte) (uint64, error) {
	if !found {
		return 0, nil
	}
	checker := value.Checker{Key: value.Fixed, Size: 128, Clients: 1, Workers: writers, Every: 1}
	if _, err := checker.Check(v, route.Hash([]byte(key))); err != nil {
		return 0, fmt.Errorf("%s: %w", key, err)
	}
	w := metrics.WriteID(uint64(v[8]) | uint64(v[9])<<8 | uint64(v[10])<<16 | uint64(v[11])<<24)
	return uint64(uint32(w)), nil
}

// check compares a version that was found with what the key may hold, at least floor.
func (l *ledger) check(key string, floor, version uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[key]
	switch {
	case version < floor:
		return fmt.Errorf("%s has version %d, but %d was acknowledged or read: lost", key, version, floor)
	case version > e.floor && !slices.Contains(e.sent, version):
		return fmt.Errorf("%s has version %d, which nobody wrote: acknowledged %d, sent %v", key, version, e.floor, e.sent)
	}
	return nil
}

// audit reads all keys, and returns an error if one was lost or invented. What it found then
// is the floor.
func (l *ledger) audit(floors map[string]uint64, call func(*kvs.Batch, *kvs.Reply) error) error {
	var batch kvs.Batch
	var reply kvs.Reply
	var keys []string
	for key := range floors {
		batch.Get([]byte(key))
		keys = append(keys, key)
	}
	if err := call(&batch, &reply); err != nil {
		return err
	}
	results, err := kvstest.DecodeReply(&reply)
	if err != nil {
		return err
	}
	var errs []error
	for i, key := range keys {
		found, err := versionOf(key, results[i].Found, results[i].Value)
		if err == nil {
			err = l.check(key, floors[key], found)
		}
		errs = append(errs, err)
		l.mu.Lock()
		*l.entries[key] = entry{floor: found}
		l.mu.Unlock()
	}
	return errors.Join(errs...)
}

// load writes a writer's keys and reads all until a call fails, whose error it returns.
func (l *ledger) load(w int, random *rand.Rand, call func(*kvs.Batch, *kvs.Reply) error) error {
	var batch kvs.Batch
	var reply kvs.Reply
	for {
		batch.Reset()
		var keys []string
		var written []uint64 // 0 of a read
		for range 1 + random.IntN(20) {
			key, write := ledgerKey(random.IntN(writers), random.IntN(ownKeys)), uint64(0)
			if random.IntN(2) == 0 {
				key = ledgerKey(w, random.IntN(ownKeys))
				batch.Append(kvs.Put, []byte(key), l.write(w, key))
				write = uint64(uint32(l.last[w]))
			} else {
				batch.Get([]byte(key))
			}
			keys, written = append(keys, key), append(written, write)
		}
		if err := call(&batch, &reply); err != nil {
			return err
		}
		results, err := kvstest.DecodeReply(&reply)
		if err != nil {
			return err
		}
		for i, key := range keys {
			v := written[i]
			if v == 0 {
				if v, err = versionOf(key, results[i].Found, results[i].Value); err != nil {
					return err
				}
			}
			l.raise(key, v)
		}
		l.acknowledged.Add(1)
	}
}
