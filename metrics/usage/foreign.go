package usage

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// Follow samples another process in place of this one, until it ends: its processor time,
// memory and open files. PID 0 means no process.
func (s *Sampler) Follow(pid int) (err error) {
	s.proc.other = &foreign{}
	if pid != 0 {
		if s.proc.other.proc, err = s.proc.Proc(pid); err != nil {
			return fmt.Errorf("sample process %d: %w", pid, err)
		}
	}
	s.last, err = s.read()
	return err
}

// foreign is a process that kvlab's program is not.
type foreign struct{ proc procfs.Proc }

// ClockTick is the unit of processor time in /proc (proc(5), sysconf(_SC_CLK_TCK)).
const ClockTick = time.Second / 100

// state returns the state of the process; the zero state if it has ended or is none.
func (f *foreign) state() (p process, err error) {
	if f.proc.PID == 0 {
		return p, nil
	}
	stat, err := f.proc.Stat()
	if err == nil {
		p.cpu = time.Duration(stat.UTime+stat.STime) * ClockTick
		p.now.RSSBytes = uint64(stat.ResidentMemory())
		p.now.HeldBytes = p.now.RSSBytes
		p.now.OpenFiles, err = f.proc.FileDescriptorsLen()
	}
	if errors.Is(err, iofs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || errors.Is(err, iofs.ErrPermission) {
		err = nil
	}
	return p, err
}
