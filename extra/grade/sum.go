package grade

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"kvlab/metrics/format"
)

// mostSubmitted is the most that a submission's files have, in bytes: they are read here, and
// sent to its build.
const mostSubmitted = 1e9

// sum returns the SHA-256 of what is in a folder: the names, modes and contents of its files, and
// where its links lead. They are not followed. A repository's own files are left out.
func sum(folder string) (string, error) {
	hash, left := sha256.New(), int64(mostSubmitted)
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == ".git" { // its commit is recorded, and git writes there when it is asked
			return fs.SkipDir
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(folder, path) // path is below it
		to, _ := os.Readlink(path)            // "" of what is no link
		fmt.Fprintf(hash, "%q %s %q %d\n", name, info.Mode(), to, info.Size())
		if !info.Mode().IsRegular() {
			return nil
		}
		if left -= info.Size(); left < 0 {
			return fmt.Errorf("it has more than %s of files", format.Bytes(uint64(mostSubmitted)))
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(hash, io.LimitReader(file, info.Size()))
		return err
	})
	if at := (*fs.PathError)(nil); errors.As(err, &at) { // without the instructor's path
		err = fmt.Errorf("a file cannot be read: %w", at.Err)
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), err
}
