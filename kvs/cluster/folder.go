package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"kvlab/metrics"
)

// folder is a run's folder. Its name is the run's id.
type folder string

// createFolder makes the folder of a run that starts now, and points
// out/latest to it. An existing folder is never used: a second run in the same
// second gets a number.
func createFolder(out string, now time.Time) (folder, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", fmt.Errorf("--out: %w", err)
	}
	stamp := now.Format("20060102-150405")
	name := stamp
	for i := 2; ; i++ {
		err := os.Mkdir(filepath.Join(out, name), 0o755)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("--out: %w", err)
		}
		name = fmt.Sprintf("%s-%d", stamp, i)
	}
	return folder(filepath.Join(out, name)), pointLatest(out, name)
}

// pointLatest replaces out/latest in one step: whoever follows it meanwhile
// finds the old run or the new one. The link is relative, so that the folder
// may be moved or mounted elsewhere.
func pointLatest(out, name string) error {
	link := filepath.Join(out, ".latest-"+name)
	if err := os.Symlink(name, link); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if err := os.Rename(link, filepath.Join(out, "latest")); err != nil {
		os.Remove(link)
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

func (f folder) id() string { return filepath.Base(string(f)) }

func (f folder) path(name string) string { return filepath.Join(string(f), name) }

// writeRun writes run.json.
func (f folder) writeRun(run metrics.Run) error {
	text, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return fmt.Errorf("write run.json: %w", err)
	}
	return f.write("run.json", append(text, '\n'))
}

// write puts a whole file in place at once: it is there complete, or not.
func (f folder) write(name string, content []byte) error {
	temp := f.path("." + name)
	if err := os.WriteFile(temp, content, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(temp, f.path(name)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
