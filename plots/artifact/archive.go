package artifact

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// epoch is the time of every file of an archive, the first that zip and old tools can hold.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// writeArchive writes a folder as a tar archive compressed by gzip: below the folder top, in
// the order of the names, without what names machine, user or time, and without the paths
// that are left out. It writes the file whole or not at all.
func writeArchive(out, dir, top string, without []string) (err error) {
	file, err := os.CreateTemp(filepath.Dir(out), "."+filepath.Base(out)+"-")
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err == nil {
			err = errors.Join(os.Chmod(file.Name(), 0o644), os.Rename(file.Name(), out))
		}
		if err != nil {
			os.Remove(file.Name())
		}
	}()
	zipped, _ := gzip.NewWriterLevel(file, gzip.BestCompression) // the level is right
	archive := tar.NewWriter(zipped)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if slices.Contains(without, name) {
			return fs.SkipDir
		}
		return addFile(archive, path, filepath.ToSlash(filepath.Join(top, name)), entry)
	})
	return errors.Join(err, archive.Close(), zipped.Close())
}

// addFile adds a file, a folder or a symbolic link to an archive.
func addFile(archive *tar.Writer, path, name string, entry fs.DirEntry) error {
	h := &tar.Header{Name: name, Mode: 0o644, ModTime: epoch, Format: tar.FormatPAX}
	info, err := entry.Info()
	if err != nil {
		return err
	}
	switch {
	case entry.IsDir():
		h.Typeflag, h.Mode, h.Name = tar.TypeDir, 0o755, name+"/"
		return archive.WriteHeader(h)
	case entry.Type()&fs.ModeSymlink != 0:
		h.Typeflag = tar.TypeSymlink
		if h.Linkname, err = os.Readlink(path); err != nil {
			return err
		}
		_, below, _ := strings.Cut(filepath.Dir(name), "/") // without the top
		if filepath.IsAbs(h.Linkname) || !filepath.IsLocal(filepath.Join(below, h.Linkname)) {
			return fmt.Errorf("%s is a symbolic link that leads out of the artifact, to %s", name, h.Linkname)
		}
		return archive.WriteHeader(h)
	case !entry.Type().IsRegular():
		return fmt.Errorf("%s is no regular file", name)
	case info.Mode()&0o100 != 0:
		h.Mode = 0o755
	}
	h.Typeflag, h.Size = tar.TypeReg, info.Size()
	if err := archive.WriteHeader(h); err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return errors.Join(err, file.Close())
}
