package node

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"kvlab/metrics"
	"kvlab/metrics/usage"
)

// machine locates the files that hold a machine's facts; tests use fixtures.
type machine struct {
	proc        procfs.FS // /proc
	sys         string    // /sys
	controlFile string
}

// controlFile holds the control interface's name on Emulab and CloudLab nodes (Emulab
// knowledge base, entry 88).
const controlFile = "/var/emulab/boot/controlif"

var (
	ownProc, _  = procfs.NewDefaultFS() // without /proc every reading fails
	thisMachine = machine{proc: ownProc, sys: "/sys", controlFile: controlFile}
)

// facts returns the machine's facts, without the question's ports.
func (m machine) facts(q Question) (metrics.Facts, error) {
	own, err := usage.HostFacts()
	if err != nil {
		return metrics.Facts{}, err
	}
	f := metrics.Facts{Host: own, User: userName(os.Getuid())}
	var kernel unix.Utsname
	_ = unix.Uname(&kernel) // it does not fail
	f.Architecture = unix.ByteSliceToString(kernel.Machine[:])
	data, err := netip.ParseAddr(q.Data)
	if err != nil {
		return f, fmt.Errorf("data address: %w", err)
	}
	if f.Data, err = m.linkOf(data); err != nil {
		return f, err
	}
	if f.Control, f.ControlGuessed, err = m.control(); err != nil {
		return f, err
	}
	f.Others = addressesBut(f.Control.Name)
	usage.RaiseDescriptors() // as the nodes do
	f.Settings, f.Traits = usage.Settings("/", f.Data.Name), usage.Traits("/", f.Data.Name)
	for _, s := range f.Settings {
		if s.Name == usage.Governor && s.Value != "" {
			f.Governors = strings.Split(s.Value, ",")
		}
	}
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) // fails for an unknown limit only
	f.OpenFilesLimit = limit.Max
	if f.Folder, err = programFolder(os.Executable()); err != nil {
		return f, err
	}
	if f.FileSystem, f.FreeBytes, err = Disk(f.Folder); err != nil {
		return f, err
	}
	f.Processes = m.programs(f.Folder)
	return f, nil
}

// addressesBut returns the IPv4 addresses by which others may reach this machine, except those of
// one interface.
func addressesBut(name string) (addresses []string) {
	interfaces, _ := net.Interfaces() // they only improve an error's advice
	for _, i := range interfaces {
		on, err := i.Addrs()
		if err != nil || i.Name == name || i.Flags&net.FlagUp == 0 {
			continue
		}
		for _, a := range on {
			if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
				addresses = append(addresses, n.IP.String())
			}
		}
	}
	return addresses
}

// deployed matches the folder of a program that the launcher has copied. Its group is the folder
// of all copies.
var deployed = regexp.MustCompile(`^(.*/kvlab-[^/]*)/[0-9a-f]{16}$`)

// programFolder returns the folder of the launcher's copies, or else the program's own. Its
// arguments are the results of os.Executable.
func programFolder(program string, err error) (string, error) {
	folder := filepath.Dir(program)
	if match := deployed.FindStringSubmatch(folder); match != nil {
		folder = match[1]
	}
	return folder, err
}

// userName returns a user's name, or the number if it has none.
func userName(uid int) string {
	number := strconv.Itoa(uid)
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return number
}

// fileSystems has the names of common file systems by statfs(2)'s f_type.
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
	unix.RAMFS_MAGIC:           "ramfs",
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
	return slices.Contains([]string{"nfs", "smb", "cifs", "smb2", "afs", "ceph"}, kind)
}
