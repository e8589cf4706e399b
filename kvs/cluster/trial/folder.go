package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kvlab/metrics"
	"kvlab/metrics/build"
	"kvlab/metrics/format"
	"kvlab/metrics/manifest"
)

// Folder is a run's folder. Its name is the run's id.
type Folder string

// CreateFolder makes the folder of a run that starts now, and points out/latest to it. The
// folder's name ends in name, unless that is "". CreateFolder never reuses a folder: a second
// run in the same second gets a number.
func CreateFolder(out, name string, now time.Time) (Folder, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", fmt.Errorf("--out: %w", err)
	}
	stamp := strings.Join(format.NonEmpty(now.Format("20060102-150405"), name), "-")
	name = stamp
	for i := 2; ; i++ {
		dir := Folder(filepath.Join(out, name))
		switch err := os.Mkdir(string(dir), 0o755); {
		case err == nil:
			return dir, PointLatest(out, name)
		case !errors.Is(err, fs.ErrExist):
			return "", fmt.Errorf("--out: %w", err)
		}
		name = fmt.Sprintf("%s-%d", stamp, i)
	}
}

// PointLatest replaces out/latest atomically: a reader finds the old run or the new
// one. The link is relative, so that the folder may be moved or mounted elsewhere. A killed
// launcher may leave the link under its first name. The one that resumes the run takes it.
func PointLatest(out, name string) error {
	link := filepath.Join(out, ".latest-"+name)
	err := os.Symlink(name, link)
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = os.Rename(link, filepath.Join(out, "latest"))
	}
	if err != nil {
		os.Remove(link)
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

func (f Folder) ID() string { return filepath.Base(string(f)) }

func (f Folder) Path(name string) string { return filepath.Join(string(f), name) }

// WriteRun writes run.json.
func (f Folder) WriteRun(run metrics.Run) error {
	run.Version = build.Version
	return f.WriteJSON("run.json", run)
}

// WriteManifest writes the manifest of the folder's files, as the last of them.
func (f Folder) WriteManifest() error {
	m, err := manifest.Of(string(f))
	if err != nil {
		return fmt.Errorf("write %s: %w", metrics.ManifestFile, err)
	}
	return f.WriteJSON(metrics.ManifestFile, m)
}

// WriteJSON writes a value as a file of the folder.
func (f Folder) WriteJSON(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return f.Write(name, append(text, '\n'))
}

// Write writes a file atomically: either the whole file exists, or none of it. It is on
// the disk before it gets its name, so that this is so after a crash of the machine too.
func (f Folder) Write(name string, content []byte) error {
	temp := f.Path("." + name)
	file, err := os.Create(temp)
	if err == nil {
		_, err = file.Write(content)
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err == nil {
		err = os.Rename(temp, f.Path(name))
	}
	if err != nil {
		os.Remove(temp)
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Lock keeps other launchers out of a sweep's folder, until it is released or the
// launcher's process ends.
type Lock struct{ file *os.File }

// Lock locks a sweep's folder. It fails if another launcher has locked it.
func (f Folder) Lock() (*Lock, error) {
	file, err := os.Open(f.Path(metrics.SweepFile))
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: another run-cluster.sh works there: %w", f, err)
	}
	return &Lock{file}, nil
}

// Release ends the lock. A nil lock is ignored. It unlocks the file before it closes it: a
// child that is being forked has the file too, until it executes its program.
func (l *Lock) Release() {
	if l != nil {
		_ = unix.Flock(int(l.file.Fd()), unix.LOCK_UN) // of a lock that is held
		l.file.Close()
	}
}

// Clear makes the folder of a trial. It renames the folder of an earlier, interrupted
// attempt.
func (f Folder) Clear() error {
	for i := 1; ; i++ {
		cut := fmt.Sprintf("%s-cut%d", f, i)
		if _, err := os.Lstat(cut); err == nil {
			continue
		}
		if err := os.Rename(string(f), cut); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return os.Mkdir(string(f), 0o755)
	}
}
