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
	var stops []func() error
	stop = func() error {
		var errs []error
		for _, s := range stops {
			errs = append(errs, s())
		}
		return errors.Join(errs...)
	}
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
		ended, err := record(strings.ReplaceAll(kind.file, "%n", node), kind.start, kind.stop)
		if err != nil {
			return nil, errors.Join(UsageError{fmt.Errorf("%s: %w", kind.flag, err)}, stop())
		}
		stops = append(stops, func() error {
			if err := ended(); err != nil {
				return fmt.Errorf("%s: %w", kind.flag, err)
			}
			return nil
		})
	}
	return stop, nil
}

// record starts writing to a file, until the returned function is called. The runtime
// drops the errors of its writes; the buffer keeps the first.
func record(name string, start func(io.Writer) error, stop func()) (func() error, error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err // it names the file
	}
	buffer := bufio.NewWriter(file)
	if err := start(buffer); err != nil {
		return nil, errors.Join(fmt.Errorf("write to %s: %w", name, err), file.Close())
	}
	return func() error {
		stop()
		return errors.Join(buffer.Flush(), file.Close())
	}, nil
}
