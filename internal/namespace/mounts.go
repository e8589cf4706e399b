// Package namespace has what processes in new namespaces need (namespaces(7)): mounts of
// their own, and the work of a pid 1.
package namespace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Self is this program, even if its file is replaced.
const Self = "/proc/self/exe"

// Refused reports whether the error of a process's start means that the kernel refuses namespaces
// to this user, as in many containers.
func Refused(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EACCES)
}

// Private keeps the mounts of this mount namespace from others.
func Private() error {
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	return nil
}

// Mount mounts a file system that needs no device.
func Mount(kind, at, options string) error {
	if err := unix.Mount(kind, at, kind, 0, options); err != nil {
		return fmt.Errorf("mount %s on %s: %w", kind, at, err)
	}
	return nil
}

// Bind mounts from at to; both are folders, or neither is.
func Bind(from, to string) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("show %s as %s: %w", from, to, err)
	}
	return nil
}

// Graft makes an empty folder in this mount namespace only, without a write to the file
// system of path: a folder in memory, with the old entries bound into it, covers the
// nearest existing parent.
func Graft(path string) error {
	child, above := path, filepath.Dir(path)
	for !isFolder(above) {
		child, above = above, filepath.Dir(above)
	}
	before, err := os.OpenFile(above, unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer before.Close()
	entries, err := before.ReadDir(-1)
	if err != nil {
		return err
	}
	if err := Mount("tmpfs", above, "mode=0755"); err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == filepath.Base(child) {
			continue
		}
		// The descriptor still reaches the covered folder.
		from := fmt.Sprintf("/proc/self/fd/%d/%s", before.Fd(), entry.Name())
		if err := Carry(from, filepath.Join(above, entry.Name()), entry.Type()); err != nil {
			return err
		}
	}
	return os.MkdirAll(path, 0o755)
}

// Carry binds the file or folder from at to, which it makes, or copies the link.
func Carry(from, to string, kind fs.FileMode) error {
	var err error
	switch {
	case kind&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case kind.IsDir():
		err = os.Mkdir(to, 0o755)
	default:
		err = os.WriteFile(to, nil, 0o644)
	}
	if err != nil {
		return err
	}
	if err = Bind(from, to); errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	return err
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
