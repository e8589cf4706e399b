package disk

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
)

var errEnded = errors.New("the test ends")

// serve opens Pebble on a file system, and returns a service of it.
func serve(t *testing.T, fs vfs.FS, sync engine.Sync, commit bool) (*service.Service, *tree) {
	t.Helper()
	store, err := openPebble(engine.Options{Dir: "db", Sync: sync, Fail: func(err error) { t.Error(err) }}, fs)
	if err != nil {
		t.Fatal(err)
	}
	e := &tree{store: store}
	if !commit {
		return service.New(mutant{e}), e
	}
	return service.New(e), e
}

// outages loads a store on a file system that knows what was synced, cuts the power at
// random moments, and audits what each cut leaves: of what was not synced, a random part. It
// returns the first error.
func outages(t *testing.T, cuts int, commit bool) error {
	random := kvstest.NewRandom(t)
	fs, l := vfs.NewCrashableMem(), newLedger()
	s, e := serve(t, fs, engine.SyncDisk, commit)
	stop := make(chan struct{})
	var group sync.WaitGroup
	for w := range writers {
		conn, seeded := s.Open("writer"), rand.New(rand.NewPCG(random.Uint64(), 0))
		group.Go(func() {
			if err := l.load(w, seeded, func(batch *kvs.Batch, reply *kvs.Reply) error {
				select {
				case <-stop:
					return errEnded
				default:
					return conn.BatchPutGet(batch, reply)
				}
			}); err != errEnded {
				t.Errorf("writer %d: %v", w, err)
			}
		})
	}
	defer func() {
		close(stop)
		group.Wait()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	for range cuts {
		for due := l.acknowledged.Load() + int64(1+random.IntN(200)); l.acknowledged.Load() < due; {
			time.Sleep(time.Millisecond)
		}
		floors := l.floors()
		after := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: random.IntN(101), RNG: random})
		if err := auditClone(t, l, floors, after); err != nil {
			return err
		}
	}
	return nil
}

// auditClone compares what a cut has left with the floors before it.
func auditClone(t *testing.T, l *ledger, floors map[string]uint64, after vfs.FS) error {
	s, e := serve(t, after, engine.SyncDisk, true)
	copied := newLedger()
	l.mu.Lock()
	for key, floor := range floors { // above it, every version of the key's writer may be there
		e := copied.entries[key]
		e.floor = floor
		for v := floor + 1; v <= uint64(uint32(l.last[keyWriter(key)])); v++ {
			e.sent = append(e.sent, v)
		}
	}
	l.mu.Unlock()
	return errors.Join(copied.audit(floors, s.Open("auditor").BatchPutGet), e.Close())
}

// keyWriter returns the writer of a key.
func keyWriter(key string) int { return int(strings.TrimPrefix(key, "key")[0] - '0') }

// After a power loss at any moment, Pebble with -sync disk has every write that was
// acknowledged or read before. One without Commit has not.
func TestPowerLoss(t *testing.T) {
	if err := outages(t, 10, true); err != nil {
		t.Error(err)
	}
	if err := outages(t, 20, false); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("a mutant without Commit loses nothing: %v", err)
	}
}
