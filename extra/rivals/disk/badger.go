package disk

import (
	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

const badgerModule = "github.com/dgraph-io/badger/v4"

// Badger is Dgraph's LSM tree. A call's writes are one write batch. Its log is a shared
// mapping of a file, which the operating system keeps when the process ends: there is no
// weaker mode. Reads wait for commits under way, and so see nothing that is not durable.
var Badger = row("badger", "Dgraph's Badger, an LSM tree, one write batch a call", badgerModule, false,
	[]engine.Sync{engine.SyncDisk, engine.SyncOS},
	func(o engine.Options) (store, error) {
		s := &badgerStore{}
		return s, s.open(badger.DefaultOptions(o.Dir).
			WithSyncWrites(o.Sync == engine.SyncDisk).
			WithDetectConflicts(false).
			WithCompression(options.None).
			WithBlockCacheSize(0)) // it is of use for compressed or encrypted blocks
	})

// BadgerFlin is Badger as Flin uses it: one transaction an operation, and the options of
// github.com/skshohagmiah/flin, internal/storage/kv.go.
var BadgerFlin = row("badger-flin", "Badger as Flin uses it, one transaction an operation", badgerModule, true,
	[]engine.Sync{engine.SyncOS},
	func(o engine.Options) (store, error) {
		s := &badgerStore{single: true}
		return s, s.open(badger.DefaultOptions(o.Dir).
			WithNumVersionsToKeep(1).
			WithNumLevelZeroTables(10).
			WithNumLevelZeroTablesStall(20).
			WithValueLogFileSize(512 << 20).
			WithNumCompactors(4).
			WithValueThreshold(1024).
			WithBlockCacheSize(2 << 30).
			WithIndexCacheSize(1 << 30).
			WithSyncWrites(false).
			WithDetectConflicts(false).
			WithMemTableSize(128 << 20))
	})

type badgerStore struct {
	db     *badger.DB
	single bool // each operation is a transaction
}

func (s *badgerStore) open(o badger.Options) (err error) {
	s.db, err = badger.Open(o.WithLogger(nil).WithMetricsEnabled(false))
	return err
}

// change is what a transaction and a write batch have.
type change interface {
	Set(key, value []byte) error
	Delete(key []byte) error
}

func add(to change, op *kvs.Op) error {
	if op.Kind == kvs.Delete {
		return to.Delete(op.Key)
	}
	return to.Set(op.Key, op.Value)
}

// write executes operations, whose memory Badger keeps only until it returns: the log and the
// memtable have copies.
func (s *badgerStore) write(ops []kvs.Op) error {
	if s.single {
		for i := range ops {
			if err := s.db.Update(func(txn *badger.Txn) error { return add(txn, &ops[i]) }); err != nil {
				return err
			}
		}
		return nil
	}
	batch := s.db.NewWriteBatch()
	defer batch.Cancel()
	for i := range ops {
		if err := add(batch, &ops[i]); err != nil {
			return err
		}
	}
	return batch.Flush()
}

// commit has nothing to do: write returns when its operations are durable.
func (s *badgerStore) commit() error { return nil }

func (s *badgerStore) close() error { return s.db.Close() }

func (s *badgerStore) view() view {
	v := &badgerView{db: s.db}
	if !s.single {
		v.txn = s.db.NewTransaction(false)
	}
	return v
}

// badgerView reads in one transaction, or in one for each operation.
type badgerView struct {
	db    *badger.DB
	txn   *badger.Txn // nil: one for each operation
	value []byte      // of the last get
}

// read lets use read in the view's transaction.
func (v *badgerView) read(use func(*badger.Txn) error) error {
	if v.txn != nil {
		return use(v.txn)
	}
	return v.db.View(use)
}

func (v *badgerView) get(key []byte) (value []byte, ok bool, err error) {
	err = v.read(func(txn *badger.Txn) error {
		item, err := txn.Get(key)
		if err == nil {
			v.value, err = item.ValueCopy(v.value)
		}
		return err
	})
	if err == badger.ErrKeyNotFound {
		return nil, false, nil
	}
	return v.value, err == nil, err
}

func (v *badgerView) scan(from []byte, values bool, visit func(key, value []byte) bool) error {
	return v.read(func(txn *badger.Txn) error {
		o := badger.DefaultIteratorOptions
		o.PrefetchValues = values
		i := txn.NewIterator(o)
		defer i.Close()
		for i.Seek(from); i.Valid(); i.Next() {
			item, more := i.Item(), false
			if !values {
				more = visit(item.Key(), nil)
			} else if err := item.Value(func(value []byte) error { more = visit(item.Key(), value); return nil }); err != nil {
				return err
			}
			if !more {
				break
			}
		}
		return nil
	})
}

func (v *badgerView) close() error {
	if v.txn != nil {
		v.txn.Discard()
	}
	return nil
}
