// Package manifest sums up the files of a run folder, and finds what has changed in one.
package manifest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kvlab/metrics"
)

// Of returns the manifest of a folder as it is now.
func Of(dir string) (metrics.Manifest, error) {
	m := metrics.Manifest{Schema: metrics.Schema}
	dir, err := filepath.EvalSymlinks(dir) // logs/latest is a link, which WalkDir does not follow
	if err != nil {
		return m, err
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		base := entry.Name()
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case entry.IsDir() && strings.HasPrefix(base, "trial-") && strings.Contains(base, "-cut"):
			return fs.SkipDir
		case entry.IsDir():
			if sum, err := sumOf(dir, filepath.Join(name, metrics.ManifestFile)); err == nil {
				m.Files = append(m.Files, sum)
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular() || name == metrics.ManifestFile || base[0] == '.' || IsDrawn(base):
			return nil
		}
		sum, err := sumOf(dir, name)
		m.Files = append(m.Files, sum)
		return err
	})
	return m, err
}

// IsDrawn reports whether kvsplot draws the file of a name. The page of a history is a record.
func IsDrawn(base string) bool {
	return slices.Contains([]string{".png", ".svg", ".pdf", ".html"}, filepath.Ext(base)) && !strings.HasPrefix(base, "history-")
}

func sumOf(dir, name string) (metrics.FileSum, error) {
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return metrics.FileSum{}, err
	}
	defer file.Close()
	digest := sha256.New()
	n, err := io.Copy(digest, file)
	return metrics.FileSum{Name: name, Bytes: n, SHA256: fmt.Sprintf("%x", digest.Sum(nil))}, err
}

// Check compares a folder, and those below it, with their manifests. It returns a
// line for each file that has changed, is missing, or was added since the launcher wrote the
// manifest. Its error is fs.ErrNotExist if the folder has no manifest.
func Check(dir string) (differences []string, err error) {
	var then metrics.Manifest
	if err := metrics.ReadJSON(filepath.Join(dir, metrics.ManifestFile), &then); err != nil {
		return nil, err
	}
	now, err := Of(dir)
	if err != nil {
		return nil, err
	}
	left := make(map[string]metrics.FileSum)
	for _, file := range now.Files {
		left[file.Name] = file
	}
	for _, file := range then.Files {
		found, there := left[file.Name]
		delete(left, file.Name)
		switch {
		case !there:
			differences = append(differences, file.Name+": the file is missing")
		case found != file:
			differences = append(differences, fmt.Sprintf("%s: the file has changed: %d bytes with SHA-256 %.12s, %s has %d bytes with %.12s",
				file.Name, found.Bytes, found.SHA256, metrics.ManifestFile, file.Bytes, file.SHA256))
		}
	}
	for _, file := range now.Files {
		if _, added := left[file.Name]; added {
			differences = append(differences, file.Name+": the file was added")
		}
		if below := filepath.Dir(file.Name); filepath.Base(file.Name) == metrics.ManifestFile {
			lines, err := Check(filepath.Join(dir, below))
			if err != nil {
				return differences, err
			}
			for _, line := range lines {
				differences = append(differences, filepath.Join(below, line))
			}
		}
	}
	return differences, nil
}
