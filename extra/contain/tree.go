package contain

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"kvlab/internal/namespace"
)

// system lists the files and folders of the machine that every program sees.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/sys",
	"/etc/alternatives", "/etc/group", "/etc/hosts", "/etc/ld.so.cache", "/etc/localtime", "/etc/nsswitch.conf", "/etc/passwd", "/etc/protocols", "/etc/services", "/etc/ssl/certs",
}

// devices lists the devices that every program sees.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// readable returns the files and folders that the program sees.
func (o order) readable() []string { return slices.Concat(system, o.Read, []string{o.Program}) }

// writable returns the folders in which the program may write. The working directory is one of
// them. It becomes /tmp if it is the machine's root or a folder that the program only reads.
func (o *order) writable() []string {
	folders := append([]string{"/tmp", "/var/tmp", "/dev/shm"}, o.Write...)
	seen := func(folder string) bool { return within(o.Dir, folder) }
	if o.Dir == "/" || slices.ContainsFunc(o.readable(), seen) {
		o.Dir = "/tmp"
	}
	return slices.Concat(folders, o.Over, []string{o.Dir})
}

// within reports whether a path is a folder or below it.
func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// enter makes a root in memory, shows there what the program may see, and makes it the root of
// this mount namespace.
func (o order) enter(readable, writable []string) error {
	at := func(path string) string { return filepath.Join(o.Root, path) }
	err := namespace.Private()
	if err == nil {
		err = unix.Mount("tmpfs", o.Root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("mode=0755,size=%d", o.Limits.Disk))
	}
	if err != nil {
		return fmt.Errorf("make a root in memory: %w", err)
	}
	for _, path := range writable {
		err = cmp.Or(err, os.MkdirAll(at(path), 0o755), os.Chown(at(path), o.User, o.User))
	}
	for _, path := range append(readable, devices...) {
		err = cmp.Or(err, show(path, at(path)))
	}
	for i, path := range o.Over {
		err = cmp.Or(err, o.cover(path, at(path), at(fmt.Sprintf("/over-%d", i))))
	}
	for name, to := range map[string]string{"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"} {
		err = cmp.Or(err, os.Symlink("/proc/self/fd"+to, at("/dev/"+name)))
	}
	err = cmp.Or(err, os.Mkdir(at("/proc"), 0o555))
	if err == nil && namespace.Mount("proc", at("/proc"), "") != nil { // as in some containers
		err = namespace.Bind("/proc", at("/proc"))
	}
	// pivot_root(".", ".") puts the old root over the new one, pivot_root(2).
	if err = cmp.Or(err, os.Chdir(o.Root)); err == nil {
		err = cmp.Or(unix.PivotRoot(".", "."), unix.Unmount(".", unix.MNT_DETACH), os.Chdir("/"))
	}
	if err != nil {
		return fmt.Errorf("make the program's root: %w", err)
	}
	return nil
}

// show binds a file or folder, read-only, to a path below the new root. It leaves out what is
// missing and what is there already.
func show(from, to string) error {
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if _, err := os.Lstat(to); err == nil && !info.IsDir() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.IsDir() {
		err = cmp.Or(os.MkdirAll(to, 0o755), namespace.Bind(from, to))
	} else {
		err = namespace.Carry(from, to, info.Mode().Type())
	}
	if err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return err
	}
	// Before Linux 5.12 only the user and Landlock keep the program from writing there.
	err = unix.MountSetattr(unix.AT_FDCWD, to, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID})
	if errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

// cover shows a folder with the program's own files on top (the kernel's overlayfs.rst). The
// files below do not change. There the program's user owns the folder and its subfolders.
func (o order) cover(from, to, own string) error {
	entries, err := os.ReadDir(from)
	upper, work := filepath.Join(own, "upper"), filepath.Join(own, "work")
	err = cmp.Or(err, os.MkdirAll(upper, 0o755), os.Mkdir(work, 0o755), os.Chown(upper, o.User, o.User))
	for _, entry := range entries {
		if folder := filepath.Join(upper, entry.Name()); entry.IsDir() {
			err = cmp.Or(err, os.Mkdir(folder, 0o755), os.Chown(folder, o.User, o.User))
		}
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", from, upper, work)
	if o.User == 0 { // a user namespace needs it
		options += ",userxattr"
	}
	return cmp.Or(err, namespace.Mount("overlay", to, options))
}
