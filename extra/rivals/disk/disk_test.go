package disk

import (
	"io"
	"os"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/engine/enginetest"
)

var rows = []engine.Row{Pebble, Badger, BadgerFlin}

// open opens a row's engine in a folder, until the test ends.
func open(t *testing.T, row engine.Row, dir string, sync engine.Sync) kvs.Durable {
	t.Helper()
	e, err := row.Open(engine.Options{Dir: dir, Sync: sync, Fail: func(err error) { t.Errorf("%s: %v", row.Name, err) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.(io.Closer).Close(); err != nil {
			t.Error(err)
		}
	})
	return e.(kvs.Durable)
}

// memory returns a folder in memory, where a sync takes no time, or else an ordinary one.
func memory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "kvlab-disk-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Every engine is one in each of its modes.
func TestEngines(t *testing.T) {
	for _, row := range rows {
		for _, sync := range row.Syncs {
			t.Run(row.Name+"/"+string(sync), func(t *testing.T) {
				enginetest.Run(t, row.Lacks, func() kvs.Engine { return open(t, row, memory(t), sync) })
			})
		}
	}
}
