package node

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"runtime/trace"
	"strings"
)

// profile starts the profiles that the flags ask for. %n in a file's name is the node's.
// stop completes the files. Errors name the flag; those of profile are UsageErrors.
func (f *Flags) profile(node string) (stop func() error, err error) {
	stop = func() error { return nil }
	for _, kind := range []struct {
		flag, file string
		magic      string // with which such a file begins
		start      func(io.Writer) error
		stop       func()
	}{
		{"-cpuprofile", f.cpuProfile, "\x1f\x8b", pprof.StartCPUProfile, pprof.StopCPUProfile},
		{"-exec-trace", f.execTrace, "go 1.", trace.Start, trace.Stop},
	} {
		if kind.file == "" {
			continue
		}
		file, err := createProfile(strings.ReplaceAll(kind.file, "%n", node), kind.magic)
		// The runtime drops the errors of its writes; the buffer keeps the first.
		buffer := bufio.NewWriter(file)
		if err == nil {
			err = kind.start(buffer)
		}
		if err != nil {
			return nil, errors.Join(UsageError{fmt.Errorf("%s: %w", kind.flag, err)}, stop())
		}
		others := stop
		stop = func() error {
			kind.stop()
			err := errors.Join(buffer.Flush(), file.Close())
			if err != nil {
				err = fmt.Errorf("%s: %w", kind.flag, err)
			}
			return errors.Join(err, others())
		}
	}
	return stop, nil
}

// createProfile makes an empty file, in place of an earlier profile of the kind only.
func createProfile(path, magic string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() { // a device
		return file, err
	}
	begins := make([]byte, len(magic))
	if n, _ := file.ReadAt(begins, 0); n > 0 && string(begins) != magic {
		file.Close()
		return nil, fmt.Errorf("%s exists, and is no earlier profile: want another name, or remove it", path)
	}
	return file, file.Truncate(0)
}
