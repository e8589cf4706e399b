package server

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"kvlab/kvs/engine"
	"kvlab/kvs/node"
)

// folder holds the store of an engine on disk: the engine's files in data, and a mark. Only
// one server uses it at a time.
type folder struct {
	path      string
	temporary bool     // it is removed at the end
	mark      *os.File // locked
	folderMark
}

// folderMark says what a folder holds.
type folderMark struct {
	Engine   string `json:"engine"`
	Instance string `json:"instance"` // of the store, whichever process serves it
}

const markFile = "kvlab-store.json"

// openFolder opens the folder of the config's store below -dir, and empties it without
// -reopen. Without -dir it makes a temporary one.
func openFolder(c config) (f *folder, err error) {
	f = &folder{temporary: c.Dir == ""}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	if f.temporary {
		f.path, err = os.MkdirTemp("", "kvlab-store-")
	} else if f.path, err = filepath.Abs(filepath.Join(c.Dir, c.Node)); err == nil && !c.Reopen {
		err = makeFolder(f.path)
	}
	if err != nil {
		return f, err
	}
	if c.Sync == engine.SyncDisk {
		if err := onDisk(f.path); err != nil {
			return f, err
		}
	}
	if err := f.lock(); err != nil {
		return f, err
	}
	if c.Reopen {
		return f, f.read(c.Engine)
	}
	return f, f.begin(c.Engine)
}

// makeFolder makes a folder, or accepts one that is empty or holds a store: no file of
// somebody else's is removed.
func makeFolder(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	files, err := os.ReadDir(path)
	if err == nil && len(files) > 0 {
		if _, err = os.Stat(filepath.Join(path, markFile)); errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s holds files that are no store of kvlab's: want an empty folder, or none", path)
		}
	}
	if err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	return nil
}

// onDisk returns an error if a folder is in memory, where no sync keeps anything.
func onDisk(path string) error {
	kind, _, err := node.Disk(path)
	if err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	if kind == "tmpfs" || kind == "ramfs" {
		return fmt.Errorf("-sync disk: %s is in memory, which a power loss empties: want a -dir on a disk", path)
	}
	return nil
}

// lock opens the mark, and keeps other servers out of the folder.
func (f *folder) lock() (err error) {
	f.mark, err = os.OpenFile(filepath.Join(f.path, markFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	if err := unix.Flock(int(f.mark.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("-dir: %s: another server works there: %w", f.path, err)
	}
	return nil
}

// begin empties the folder and marks it as a new store's.
func (f *folder) begin(engine string) error {
	f.folderMark = folderMark{Engine: engine, Instance: rand.Text()}
	text, err := json.Marshal(f.folderMark) // no error is possible
	err = cmp.Or(err, os.RemoveAll(f.data()), os.Mkdir(f.data(), 0o755), f.mark.Truncate(0))
	if err == nil {
		_, err = f.mark.WriteAt(append(text, '\n'), 0)
	}
	if err = cmp.Or(err, f.mark.Sync()); err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	return nil
}

// read reads the mark of a store, which must be of the engine.
func (f *folder) read(engine string) error {
	if err := json.NewDecoder(f.mark).Decode(&f.folderMark); err != nil || f.Instance == "" {
		return fmt.Errorf("-reopen: %s holds no store", f.path)
	}
	if f.Engine != engine {
		return fmt.Errorf("-reopen: %s holds a store of -engine %s", f.path, f.Engine)
	}
	return nil
}

// data returns the folder of the engine's files.
func (f *folder) data() string { return filepath.Join(f.path, "data") }

// close lets other servers in, and removes a temporary folder.
func (f *folder) close() (err error) {
	if f.mark != nil {
		err = f.mark.Close()
	}
	if f.temporary && f.path != "" {
		err = errors.Join(err, os.RemoveAll(f.path))
	}
	return err
}
