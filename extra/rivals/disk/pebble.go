package disk

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// Pebble is CockroachDB's LSM tree. A call's writes are one batch of its log. Pebble shows
// them before they are durable, so every call waits for what it has read, too.
var Pebble = row("pebble", "CockroachDB's Pebble, an LSM tree", "github.com/cockroachdb/pebble/v2", false,
	[]engine.Sync{engine.SyncDisk, engine.SyncOS, engine.SyncNone},
	func(o engine.Options) (store, error) { return openPebble(o, vfs.Default) })

// pebbleStore counts its writes, so that a call that found nothing new does not wait.
type pebbleStore struct {
	db   *pebble.DB
	wait bool // for the log: not with engine.SyncNone

	begun, done atomic.Uint64 // writes: before they can be seen, and when they are in the log's queue
	durable     atomic.Uint64 // the first writes that are durable
}

// openPebble opens the store in a folder of a file system. Its sizes are those of
// Cockroach's benchmarks (cmd/pebble), whose defaults are for small machines; values are
// not compressed, because ours are incompressible.
func openPebble(o engine.Options, fs vfs.FS) (*pebbleStore, error) {
	if o.Sync == engine.SyncOS {
		fs = osFS{fs}
	}
	options := &pebble.Options{
		FS:                          fs,
		Logger:                      logger{o.Fail},
		CacheSize:                   512 << 20,
		MemTableSize:                64 << 20,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       2,
		L0StopWritesThreshold:       1000,
		CompactionConcurrencyRange:  func() (lower, upper int) { return 1, max(2, runtime.GOMAXPROCS(0)/2) },
		FormatMajorVersion:          pebble.FormatNewest,
	}
	for i := range options.Levels {
		options.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	options.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	db, err := pebble.Open(o.Dir, options)
	if err != nil {
		return nil, err
	}
	return &pebbleStore{db: db, wait: o.Sync != engine.SyncNone}, nil
}

func (s *pebbleStore) write(ops []kvs.Op) error {
	size := 0
	for i := range ops {
		size += len(ops[i].Key) + len(ops[i].Value) + 8
	}
	b := s.db.NewBatchWithSize(size + 16)
	for i := range ops {
		op, err := &ops[i], error(nil)
		if op.Kind == kvs.Delete {
			err = b.Delete(op.Key, nil)
		} else {
			err = b.Set(op.Key, op.Value, nil)
		}
		if err != nil {
			return err
		}
	}
	s.begun.Add(1)
	if err := b.Commit(pebble.NoSync); err != nil {
		return err
	}
	s.done.Add(1)
	return b.Close()
}

// commit waits until the log is synced up to here, if a write may not be: an entry without
// effect is queued behind all that is visible. The writes that are begun are then durable
// if none was under way.
func (s *pebbleStore) commit() error {
	if !s.wait {
		return nil
	}
	done := s.done.Load() // before begun, which is never less
	begun := s.begun.Load()
	if s.durable.Load() >= begun {
		return nil
	}
	if err := s.db.LogData(nil, pebble.Sync); err != nil {
		return err
	}
	for old := s.durable.Load(); done == begun && old < begun && !s.durable.CompareAndSwap(old, begun); {
		old = s.durable.Load()
	}
	return nil
}

func (s *pebbleStore) close() error { return s.db.Close() }

func (s *pebbleStore) view() view { return &pebbleView{db: s.db} }

// pebbleView reads what is visible at the moment.
type pebbleView struct {
	db  *pebble.DB
	got interface{ Close() error } // holds the value of the last get; may be nil
}

func (v *pebbleView) get(key []byte) (value []byte, ok bool, err error) {
	if err := v.close(); err != nil {
		return nil, false, err
	}
	value, got, err := v.db.Get(key)
	if err == pebble.ErrNotFound {
		return nil, false, nil
	} else if err != nil {
		return nil, false, err
	}
	v.got = got
	return value, true, nil
}

func (v *pebbleView) scan(from []byte, values bool, visit func(key, value []byte) bool) error {
	i, err := v.db.NewIter(&pebble.IterOptions{LowerBound: from})
	if err != nil {
		return err
	}
	for ok := i.First(); ok; ok = i.Next() {
		var value []byte
		if values {
			if value, err = i.ValueAndErr(); err != nil {
				break
			}
		}
		if !visit(i.Key(), value) {
			break
		}
	}
	if closed := i.Close(); err == nil { // it has the iterator's error
		err = closed
	}
	return err
}

func (v *pebbleView) close() error {
	if v.got == nil {
		return nil
	}
	got := v.got
	v.got = nil
	return got.Close()
}

// logger ends the engine at a fatal error, and the goroutine, as Pebble expects.
type logger struct{ fail func(error) }

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}

func (l logger) Fatalf(format string, args ...any) {
	l.fail(fmt.Errorf(format, args...))
	runtime.Goexit()
}

// osFS is a file system in which a sync of Pebble's log does nothing: the operating system
// has what was written, and keeps it when the process ends. Pebble without syncs would keep
// the end of the log in the process (cockroachdb/pebble issue 4430). Other files are synced.
type osFS struct{ vfs.FS }

func (f osFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return logFile(name)(f.FS.Create(name, category))
}

func (f osFS) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return logFile(name)(f.FS.ReuseForWrite(old, name, category))
}

func (f osFS) Unwrap() vfs.FS { return f.FS }

// logFile returns a file as it is, unless it is a log.
func logFile(name string) func(vfs.File, error) (vfs.File, error) {
	return func(file vfs.File, err error) (vfs.File, error) {
		if err == nil && strings.HasSuffix(name, ".log") {
			file = osFile{file}
		}
		return file, err
	}
}

type osFile struct{ vfs.File }

func (osFile) Sync() error                { return nil }
func (osFile) SyncData() error            { return nil }
func (osFile) SyncTo(int64) (bool, error) { return false, nil }
