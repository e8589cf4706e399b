package index

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"kvlab/metrics"
)

// cacheFile keeps the entries of a folder, so that a thousand of them are listed at once. An
// entry stays as it was judged first, as report.html does.
const cacheFile = ".index.json"

// cacheVersion is raised when an Entry changes its form or its meaning.
const cacheVersion = 1

// cache is cacheFile.
type cache struct {
	Version int               `json:"version"`
	Folders map[string]cached `json:"folders"` // by name
}

type cached struct {
	Stamp string `json:"stamp"`
	Entry Entry  `json:"entry"`
}

func newCache() cache {
	return cache{Version: cacheVersion, Folders: make(map[string]cached)}
}

// readCache returns the cache of a folder; an empty one if there is none, or if another
// version made it.
func readCache(dir string) cache {
	var c cache
	if err := metrics.ReadJSON(filepath.Join(dir, cacheFile), &c); err != nil || c.Version != cacheVersion {
		return newCache()
	}
	return c
}

// replace writes the cache of a folder if it differs from the one before. That it cannot,
// as in a folder of someone else, costs time alone.
func (c cache) replace(dir string, before cache) {
	same := func(a, b cached) bool { return a.Stamp == b.Stamp }
	if maps.EqualFunc(c.Folders, before.Folders, same) {
		return
	}
	if text, err := json.Marshal(c); err == nil {
		_ = write(dir, cacheFile, text)
	}
}

// stampOf changes when a result in a run folder does.
func stampOf(dir string) string {
	stamp := ""
	for _, name := range []string{"", "run.json", metrics.SweepFile, metrics.TrialsFile} { // "": the folder, whose time changes with its list of files
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			stamp += fmt.Sprintf("%s %d %d;", name, info.ModTime().UnixNano(), info.Size())
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
