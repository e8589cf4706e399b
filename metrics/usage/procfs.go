package usage

import (
	"cmp"
	"fmt"
	"os"

	"github.com/prometheus/procfs"
)

// procFS reads a directory that looks like /proc. A file that is missing or
// garbled is an error that names it. gopsutil's readers return zeros instead.
type procFS struct {
	procfs.FS
	self  procfs.Proc
	dir   string
	other *foreign // the process to sample in place of this one; nil for none
}

// hostProc reads the directory that HOST_PROC names, else /proc: the same rule as
// gopsutil's, so that both look at the same machine.
func hostProc() (fs procFS, err error) {
	fs.dir = cmp.Or(os.Getenv("HOST_PROC"), procfs.DefaultMountPoint)
	if fs.FS, err = procfs.NewFS(fs.dir); err == nil {
		fs.self, err = fs.Self()
	}
	return fs, err
}

// memory holds the size of this machine's memory, and how much a new program can get
// without swapping. As in free(1), page cache that can be dropped is available.
type memory struct{ totalBytes, availableBytes uint64 }

func (m memory) usedBytes() uint64 { return m.totalBytes - m.availableBytes }

func (fs procFS) memory() (memory, error) {
	m, err := fs.Meminfo()
	switch {
	case err != nil:
		return memory{}, fmt.Errorf("%s/meminfo: %w", fs.dir, err)
	case m.MemTotalBytes == nil || m.MemAvailableBytes == nil:
		return memory{}, fmt.Errorf("%s/meminfo: no MemTotal or no MemAvailable", fs.dir)
	}
	return memory{*m.MemTotalBytes, min(*m.MemAvailableBytes, *m.MemTotalBytes)}, nil
}

// segments are the TCP segments that this machine has sent since boot (RFC 4022).
type segments struct {
	again uint64
	first uint64 // the segments with something new in them
}

func (fs procFS) segments() (segments, error) {
	snmp, err := fs.self.Snmp()
	switch {
	case err != nil:
		return segments{}, fmt.Errorf("%s/self/net/snmp: %w", fs.dir, err)
	case snmp.RetransSegs == nil || snmp.OutSegs == nil:
		return segments{}, fmt.Errorf("%s/self/net/snmp: no RetransSegs or no OutSegs", fs.dir)
	}
	return segments{again: uint64(*snmp.RetransSegs), first: uint64(*snmp.OutSegs)}, nil
}

// since returns how far a counter has come from before to now. It returns 0 for a
// counter that went backwards, because a reset lost what it had counted.
func since(now, before uint64) uint64 { return now - min(now, before) }
