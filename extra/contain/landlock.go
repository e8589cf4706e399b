package contain

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock's rights on a file, and on a folder with the files in it (landlock(7)).
const (
	readFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	read      = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeFile = readFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	write     = 1<<13 - 1 // all rights of version 1, each a bit
)

// landlock restricts this thread and the processes that it starts. They can read some files and
// folders, and read and write others; signals and abstract sockets reach only each other. It
// returns the kernel's version of Landlock.
func landlock(readable, writable []string) (version int, err error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	version = int(v)
	fileWrite, folderWrite := uint64(writeFile), uint64(write)
	if version >= 2 {
		folderWrite |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		fileWrite, folderWrite = fileWrite|unix.LANDLOCK_ACCESS_FS_TRUNCATE, folderWrite|unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	rules := unix.LandlockRulesetAttr{Handled_access_fs: folderWrite}
	if version >= 6 {
		rules.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), unsafe.Sizeof(rules), 0)
	if errno != 0 {
		return version, errno
	}
	defer unix.Close(int(set))
	for _, allowed := range []struct {
		paths        []string
		file, folder uint64
	}{{readable, readFile, read}, {writable, fileWrite, folderWrite}} {
		for _, path := range allowed.paths {
			if err := allow(int(set), path, allowed.file, allowed.folder); err != nil {
				return version, fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return version, err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return version, errno
	}
	return version, nil
}

// allow adds a rule for a path, if it exists.
func allow(set int, path string, file, folder uint64) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: file, Parent_fd: int32(fd)}
	if info.IsDir() {
		rule.Allowed_access = folder
	}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
