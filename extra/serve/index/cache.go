package index

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"kvlab/metrics"
)

// cacheFile keeps the entries of a folder by their stamps, so that a thousand of them are
// listed at once. An entry stays as it was judged first, as report.html does. The name
// changes when an Entry changes its form or its meaning.
const cacheFile = ".index-3.json"

// readCache returns the cache of a folder; an empty one if there is none to be read.
func readCache(dir string) map[string]Entry {
	var c map[string]Entry
	if metrics.ReadJSON(filepath.Join(dir, cacheFile), &c) != nil {
		return nil
	}
	return c
}

// writeCache writes the cache of a folder. That it cannot, as in a folder of someone else,
// costs time alone.
func writeCache(dir string, c map[string]Entry) {
	if text, err := json.Marshal(c); err == nil {
		_ = write(dir, cacheFile, text)
	}
}

// stampOf names a run folder. It changes when a result in the folder does.
func stampOf(dir string) string {
	stamp := filepath.Base(dir)
	for _, name := range []string{"", "run.json", metrics.SweepFile, metrics.TrialsFile} { // "": the folder, whose time changes with its list of files
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			stamp += fmt.Sprintf("/%s %d %d", name, info.ModTime().UnixNano(), info.Size())
		}
	}
	return stamp
}

// write replaces a file of a folder at once, for those who read it meanwhile.
func write(dir, name string, text []byte) error {
	temp := filepath.Join(dir, fmt.Sprintf(".%s-%d", name, os.Getpid()))
	err := os.WriteFile(temp, text, 0o644)
	if err == nil {
		err = os.Rename(temp, filepath.Join(dir, name))
	}
	if err != nil {
		os.Remove(temp)
	}
	return err
}
