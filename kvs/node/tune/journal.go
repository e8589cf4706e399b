package tune

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A journal has what a host's settings were before runs set them. There is one for each
// network namespace, in /run, which a reboot empties as it resets the settings.
//
// Two locks (flock(2)), which the kernel drops when a process dies, decide who restores
// the settings. Every process that wants them as they are shares users; who gets that lock
// alone is the last, and restores. Each holds file alone while it reads or writes the
// journal or the settings, and decides under it.
type journal struct {
	host    Host
	file    *os.File
	users   *os.File
	entries []entry
}

// entry is a line of the journal. It is on the disk before the setting is set.
type entry struct {
	Path string `json:"path"`
	Was  string `json:"was"`
	Set  string `json:"set"`
}

// namespaceForm matches the name of a network namespace, as namespaces(7) describes it.
var namespaceForm = regexp.MustCompile(`^net:\[(\d+)\]$`)

// open opens the journal and locks it. Without create, it is nil if there is none, or if it
// is another user's.
func (h Host) open(create bool) (*journal, error) {
	name, err := os.Readlink(filepath.Join(h.root, "proc/self/ns/net"))
	number := namespaceForm.FindStringSubmatch(name)
	if err != nil || number == nil {
		return nil, fmt.Errorf("network namespace %q: %w", name, err)
	}
	path, flags := filepath.Join(h.folder(), "tune-"+number[1]), os.O_RDWR|os.O_APPEND
	if create {
		flags |= os.O_CREATE
	}
	for {
		j, err := h.tryOpen(path, flags)
		switch removed := errors.Is(err, os.ErrNotExist); {
		case create && removed: // by its last user, in between
		case removed, !create && errors.Is(err, os.ErrPermission):
			return nil, nil
		default:
			return j, err
		}
	}
}

// folder is that of the journals.
func (h Host) folder() string { return filepath.Join(h.root, "run/kvlab") }

// tryOpen opens the journal with a path, locks and reads it. The error is os.ErrNotExist if
// it is removed meanwhile.
func (h Host) tryOpen(path string, flags int) (j *journal, err error) {
	if flags&os.O_CREATE != 0 {
		if err := os.MkdirAll(h.folder(), 0o700); err != nil {
			return nil, err
		}
	}
	j = &journal{host: h}
	if j.file, err = os.OpenFile(path+".journal", flags, 0o600); err != nil {
		return nil, err
	}
	if err = j.lock(); err == nil {
		err = j.exists()
	}
	if err == nil {
		j.users, err = os.OpenFile(path+".users", flags|os.O_CREATE, 0o600)
	}
	if err == nil {
		err = j.read()
	}
	if err != nil {
		j.close()
		return nil, err
	}
	return j, nil
}

// exists returns os.ErrNotExist if the journal's file has been removed.
func (j *journal) exists() error {
	named, err := os.Stat(j.file.Name())
	if err != nil {
		return err
	}
	if own, err := j.file.Stat(); err != nil || !os.SameFile(named, own) {
		return errors.Join(os.ErrNotExist, err)
	}
	return nil
}

// remove removes the files of a journal without entries and without another user.
func (j *journal) remove() error {
	err := errors.Join(os.Remove(j.users.Name()), os.Remove(j.file.Name()))
	_ = os.Remove(j.host.folder()) // it may have those of other namespaces
	return err
}

func (j *journal) close() {
	j.file.Close()
	j.users.Close() // nil is ignored
}

// lockWithin is how long another process may hold the journal. It takes milliseconds,
// or a second where a driver sets its rings.
const lockWithin = 2 * time.Second

// lock locks the journal until unlock or close.
func (j *journal) lock() (err error) {
	for deadline := time.Now().Add(lockWithin); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = flock(j.file, unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
	}
	return fmt.Errorf("%s has been locked by another process for %v", j.file.Name(), lockWithin)
}

func (j *journal) unlock() error { return flock(j.file, unix.LOCK_UN) }

// alone reports whether no other process uses the settings. It ends this one's use.
func (j *journal) alone() bool { return flock(j.users, unix.LOCK_EX|unix.LOCK_NB) == nil }

// join begins this process's use of the settings.
func (j *journal) join() error { return flock(j.users, unix.LOCK_SH|unix.LOCK_NB) }

func flock(file *os.File, how int) error {
	for {
		if err := unix.Flock(int(file.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// read reads the entries. It removes the end of a line whose writer was killed: its
// setting was not set.
func (j *journal) read() error {
	if _, err := j.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	text, err := io.ReadAll(j.file)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	j.entries = nil
	for line := range bytes.Lines(text[:whole]) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("%s: %w", j.file.Name(), err)
		}
		j.entries = append(j.entries, e)
	}
	return j.file.Truncate(int64(whole))
}

// add writes an entry to the disk.
func (j *journal) add(e entry) error {
	line, err := json.Marshal(e)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if err == nil {
		err = j.file.Sync()
	}
	j.entries = append(j.entries, e)
	return err
}

// was returns the value of a path before the first entry about it; "" without one.
func (j *journal) was(path string) string {
	for _, e := range j.entries {
		if e.Path == path {
			return e.Was
		}
	}
	return ""
}

// name returns the name of a path for people: that of sysctl(8), where it has one.
func (h Host) name(path string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(path, h.root), "/")
	if sysctl, ok := strings.CutPrefix(name, files); ok {
		return strings.ReplaceAll(sysctl, "/", ".")
	}
	return name
}

// restore sets back what still has the entries' values, the last first, and describes
// what it did and what it left. It empties the journal, unless a setting could not be
// written.
func (j *journal) restore() (again, left []string, err error) {
	for _, e := range slices.Backward(j.entries) {
		now, failed := get(e.Path)
		name := j.host.name(e.Path)
		switch {
		case failed == nil && now == e.Was:
			continue
		case failed == nil && now != e.Set:
			left = append(left, fmt.Sprintf("%s is %s, which somebody else has set: it is left, and was %s", name, now, e.Was))
			continue
		case failed == nil:
			now, failed = j.host.set(e.Path, e.Was)
		}
		if failed == nil && now != e.Was {
			failed = fmt.Errorf("it is %s", now)
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("restore %s to %s: %w", name, e.Was, failed))
			continue
		}
		again = append(again, fmt.Sprintf("%s is %s again", name, e.Was))
	}
	if err == nil {
		err = j.file.Truncate(0)
	}
	j.entries = nil
	return again, left, err
}
