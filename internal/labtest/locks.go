package labtest

import "sync"

// What a server with transactions does wrong, beside what a Store does.
const (
	Cleared Fault = "cleared" // a call that it refuses releases the lock that another transaction holds
	Dropped Fault = "dropped" // it forgets a transaction in 20 that wrote, and says that it has committed it
	Kept    Fault = "kept"    // an abort leaves the locks
	Early   Fault = "early"   // a read lock ends with its call
)

// locked is a store with transactions: strict two-phase locking, in which a lock that is not free
// refuses the call. The only reader of a key may write it.
type locked struct {
	store *Store
	mu    sync.Mutex
	locks map[string]*keyLock // guarded by mu
	open  map[string]*opened  // by the transactions' ids; guarded by mu
	ended int                 // of transactions that wrote; guarded by mu
}

// keyLock is the lock of a key.
type keyLock struct {
	writer  string // "" for none
	readers map[string]bool
}

// opened is a transaction.
type opened struct {
	staged  map[string]string
	touched map[string]bool // the keys with its locks
	refused bool
}

func newLocked(s *Store) *locked {
	return &locked{store: s, locks: map[string]*keyLock{}, open: map[string]*opened{}}
}

// of returns a transaction, which its first call opens.
func (l *locked) of(id string) *opened {
	if l.open[id] == nil {
		l.open[id] = &opened{staged: map[string]string{}, touched: map[string]bool{}}
	}
	return l.open[id]
}

func (l *locked) begin(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of(id)
}

// lock takes a lock, or refuses it.
func (l *locked) lock(id, key string, exclusive bool) bool {
	k := l.locks[key]
	if k == nil {
		k = &keyLock{readers: map[string]bool{}}
		l.locks[key] = k
	}
	others := len(k.readers)
	if k.readers[id] {
		others--
	}
	if k.writer != "" && k.writer != id || exclusive && others > 0 {
		if l.store.fault == Cleared {
			k.writer = ""
			clear(k.readers)
		}
		l.of(id).refused = true
		return false
	}
	l.of(id).touched[key] = true
	if exclusive {
		k.writer = id
	} else {
		k.readers[id] = true
	}
	return true
}

// read reads a key, and locks it against others' writes, or also against their reads.
func (l *locked) read(id, key string, update bool) (value string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lock(id, key, update) {
		return "", false
	}
	if l.store.fault == Early {
		delete(l.locks[key].readers, id)
	}
	if staged, written := l.open[id].staged[key]; written {
		return staged, true
	}
	return l.store.get(key), true
}

// write stages a value.
func (l *locked) write(id, key, value string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ok := l.lock(id, key, true)
	if ok {
		l.open[id].staged[key] = value
	}
	return ok
}

// prepare reports whether a transaction can be committed.
func (l *locked) prepare(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[id] != nil && !l.open[id].refused
}

// end commits or aborts a transaction, and reports whether it knows it.
func (l *locked) end(id string, commit bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.open[id]
	if o == nil {
		return false
	}
	if commit && len(o.staged) > 0 {
		l.ended++
	}
	for key := range o.touched {
		l.release(id, key, commit && (l.store.fault != Dropped || l.ended%20 != 0))
	}
	delete(l.open, id)
	return true
}

// endKey does it for one key of a transaction.
func (l *locked) endKey(id, key string, commit bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o := l.open[id]; o != nil {
		l.release(id, key, commit)
		if len(o.touched) == 0 {
			delete(l.open, id)
		}
	}
}

// unlock releases a key that a transaction only reads.
func (l *locked) unlock(id, key string) {
	l.mu.Lock()
	writes := l.locks[key] != nil && l.locks[key].writer == id
	l.mu.Unlock()
	if !writes {
		l.endKey(id, key, true)
	}
}

// release applies what a transaction wrote to a key, if it is committed, and releases the key.
func (l *locked) release(id, key string, commit bool) {
	o, k := l.open[id], l.locks[key]
	if value, written := o.staged[key]; written && commit {
		l.store.put(key, value)
	}
	delete(o.staged, key)
	delete(o.touched, key)
	if k == nil || !commit && l.store.fault == Kept {
		return // another has cleared it
	}
	delete(k.readers, id)
	if k.writer == id {
		k.writer = ""
	}
	if k.writer == "" && len(k.readers) == 0 {
		delete(l.locks, key)
	}
}
