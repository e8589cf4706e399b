package usage

import (
	"fmt"
	"os"

	"github.com/prometheus/procfs"
)

// procFS reads a directory that looks like /proc. A file that is missing or
// garbled is an error that names it. gopsutil's readers return zeros instead.
type procFS struct {
	procfs.FS
	self procfs.Proc
	dir  string
}

// hostProc reads the directory that HOST_PROC names, else /proc: the same rule as
// gopsutil's, so that both look at the same machine.
func hostProc() (procFS, error) {
	dir := os.Getenv("HOST_PROC")
	if dir == "" {
		dir = procfs.DefaultMountPoint
	}
	return openProc(dir)
}

func openProc(dir string) (fs procFS, err error) {
	fs.dir = dir
	if fs.FS, err = procfs.NewFS(dir); err == nil {
		fs.self, err = fs.Self()
	}
	return fs, err
}

// memory is the size of this machine's memory, and what a new program could get of
// it without swapping: page cache that can be dropped counts as free, as free(1)
// has it.
type memory struct{ totalBytes, availableBytes uint64 }

func (m memory) usedBytes() uint64 { return m.totalBytes - m.availableBytes }

func (fs procFS) memory() (memory, error) {
	m, err := fs.Meminfo()
	switch {
	case err != nil:
		return memory{}, fmt.Errorf("%s/meminfo: %w", fs.dir, err)
	case m.MemTotalBytes == nil || m.MemAvailableBytes == nil:
		return memory{}, fmt.Errorf("%s/meminfo: no MemTotal or no MemAvailable", fs.dir)
	case *m.MemAvailableBytes > *m.MemTotalBytes:
		return memory{}, fmt.Errorf("%s/meminfo: MemAvailable %d is more than MemTotal %d bytes", fs.dir, *m.MemAvailableBytes, *m.MemTotalBytes)
	}
	return memory{*m.MemTotalBytes, *m.MemAvailableBytes}, nil
}

// segments are the TCP segments that this machine has sent since boot (RFC 4022).
type segments struct {
	again uint64
	first uint64 // those with something new in them
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

// since is how far a counter has come from before to now. A counter that went
// backwards was reset (an interface that was reloaded, a core that was
// unplugged): how much it counted meanwhile is unknown, and 0 is the only
// answer that invents nothing.
func since(now, before uint64) uint64 {
	if now < before {
		return 0
	}
	return now - before
}
