package node

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileSystems are the names of file systems by statfs(2)'s f_type, as far as a
// folder of programs is likely to be on one.
var fileSystems = map[int64]string{
	unix.NFS_SUPER_MAGIC:       "nfs",
	unix.SMB_SUPER_MAGIC:       "smb",
	unix.CIFS_SUPER_MAGIC:      "cifs",
	unix.SMB2_SUPER_MAGIC:      "smb2",
	unix.AFS_SUPER_MAGIC:       "afs",
	unix.CEPH_SUPER_MAGIC:      "ceph",
	unix.V9FS_MAGIC:            "9p",
	unix.FUSE_SUPER_MAGIC:      "fuse",
	unix.EXT4_SUPER_MAGIC:      "ext4",
	unix.XFS_SUPER_MAGIC:       "xfs",
	unix.BTRFS_SUPER_MAGIC:     "btrfs",
	unix.TMPFS_MAGIC:           "tmpfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlay",
}

// Disk says what kind of file system a folder is on, by its name or by the
// number of its kind in hex, and how many bytes of it this user may still write.
func Disk(folder string) (kind string, freeBytes uint64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return "", 0, fmt.Errorf("file system of %s: %w", folder, err)
	}
	kind, known := fileSystems[int64(s.Type)]
	if !known {
		kind = fmt.Sprintf("%#x", uint32(s.Type))
	}
	return kind, s.Bavail * uint64(s.Frsize), nil
}

// OnNetwork reports whether a file system's name, from Disk, is that of one
// whose files lie on another machine.
func OnNetwork(kind string) bool {
	switch kind {
	case "nfs", "smb", "cifs", "smb2", "afs", "ceph":
		return true
	}
	return false
}
