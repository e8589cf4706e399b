package disk

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
)

// When the log cannot be synced, no call is answered, one that only reads neither, and the
// engine says why.
func TestSyncFails(t *testing.T) {
	var broken atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && strings.HasSuffix(op.Path, ".log") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return errors.New("no space")
		}
		return nil
	}))
	failed := make(chan error, 100)
	e := &tree{fail: func(err error) { failed <- err }}
	var err error
	if e.store, err = openPebble(engine.Options{Dir: "db", Sync: engine.SyncDisk, Fail: e.end}, fs); err != nil {
		t.Fatal(err)
	}
	s := service.New(e)
	answered := make(chan error, 10)
	call := func(kind kvs.Kind) {
		conn := s.Open("peer")
		go func() {
			var batch kvs.Batch
			if kind == kvs.Put {
				batch.Append(kind, []byte("k"), []byte("v"))
			} else {
				batch.Get([]byte("k"))
			}
			answered <- conn.BatchPutGet(&batch, new(kvs.Reply))
		}()
	}
	call(kvs.Put)
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	for range 3 {
		call(kvs.Put)
	}
	select {
	case err := <-failed:
		t.Logf("the engine says %v", err)
	case <-time.After(2 * time.Minute):
		t.Fatal("the engine says nothing")
	}
	call(kvs.Get)
	for range 4 {
		select {
		case err := <-answered:
			if !errors.Is(err, service.ErrNotDurable) {
				t.Errorf("a call is answered with %v", err)
			}
		case <-time.After(100 * time.Millisecond): // its goroutine has ended, or waits for what never comes
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
