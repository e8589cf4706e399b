package node

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileSystems are the names of common file systems by statfs(2)'s f_type.
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

// Disk returns the kind of a folder's file system, a name or a number in hex, and the
// free bytes available to this user.
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

// OnNetwork reports whether a kind from Disk is a network file system.
func OnNetwork(kind string) bool {
	switch kind {
	case "nfs", "smb", "cifs", "smb2", "afs", "ceph":
		return true
	}
	return false
}
