package metrics

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ManifestFile is the last file that the launcher writes to the folder of a run, or of an
// experiment: a Manifest of all others.
const ManifestFile = "manifest.json"

// Manifest lists the files of a folder and of the folders below it, by name. Of a folder
// below it that has a manifest, it lists that alone. It lists no pictures and pages, which
// kvsplot draws again, and no folders of trials that were cut.
type Manifest struct {
	Schema int       `json:"schema"` // as in Run
	Files  []FileSum `json:"files"`
}

// FileSum is a file's name, relative to the folder, its size and its digest in hex.
type FileSum struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// ManifestOf returns the manifest of a folder as it is now.
func ManifestOf(dir string) (Manifest, error) {
	m := Manifest{Schema: Schema}
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
			if sum, err := sumOf(dir, filepath.Join(name, ManifestFile)); err == nil {
				m.Files = append(m.Files, sum)
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular() || name == ManifestFile || base[0] == '.' || isDrawn(base):
			return nil
		}
		sum, err := sumOf(dir, name)
		m.Files = append(m.Files, sum)
		return err
	})
	return m, err
}

// isDrawn reports whether kvsplot draws a file. The page of a history is a record.
func isDrawn(base string) bool {
	return slices.Contains([]string{".png", ".svg", ".pdf", ".html"}, filepath.Ext(base)) && !strings.HasPrefix(base, "history-")
}

func sumOf(dir, name string) (FileSum, error) {
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return FileSum{}, err
	}
	defer file.Close()
	digest := sha256.New()
	n, err := io.Copy(digest, file)
	return FileSum{name, n, fmt.Sprintf("%x", digest.Sum(nil))}, err
}

// CheckManifest compares a folder, and those below it, with their manifests. It returns a
// line for each file that has changed, is missing, or was added since the launcher wrote the
// manifest. Its error is fs.ErrNotExist if the folder has no manifest.
func CheckManifest(dir string) (differences []string, err error) {
	var then Manifest
	if err := ReadJSON(filepath.Join(dir, ManifestFile), &then); err != nil {
		return nil, err
	}
	now, err := ManifestOf(dir)
	if err != nil {
		return nil, err
	}
	left := make(map[string]FileSum)
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
				file.Name, found.Bytes, found.SHA256, ManifestFile, file.Bytes, file.SHA256))
		}
	}
	for _, file := range now.Files {
		if _, added := left[file.Name]; added {
			differences = append(differences, file.Name+": the file was added")
		}
		if below := filepath.Dir(file.Name); filepath.Base(file.Name) == ManifestFile {
			lines, err := CheckManifest(filepath.Join(dir, below))
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
