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
		start      func(io.Writer) error
		stop       func()
	}{
		{"-cpuprofile", f.cpuProfile, pprof.StartCPUProfile, pprof.StopCPUProfile},
		{"-trace", f.trace, trace.Start, trace.Stop},
	} {
		if kind.file == "" {
			continue
		}
		file, err := os.Create(strings.ReplaceAll(kind.file, "%n", node))
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
