package node

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"runtime/trace"
	"strings"
)

// Profile says which profiles a node writes. The zero Profile writes none.
type Profile struct {
	CPU   string // -cpuprofile: for go tool pprof
	Trace string // -trace: for go tool trace
}

// Flags defines p's flags.
func (p *Profile) Flags(flags *flag.FlagSet) {
	const where = " to this `file` on the node; %n stands for the node's name"
	flags.StringVar(&p.CPU, "cpuprofile", p.CPU, "write a CPU profile for go tool pprof"+where)
	flags.StringVar(&p.Trace, "trace", p.Trace, "write an execution trace for go tool trace, several MB a second,"+where)
}

// Start starts the profiles of the named node. stop completes the files. Errors name
// the flag; those of Start are UsageErrors.
func (p Profile) Start(node string) (stop func() error, err error) {
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
		{"-cpuprofile", p.CPU, pprof.StartCPUProfile, pprof.StopCPUProfile},
		{"-trace", p.Trace, trace.Start, trace.Stop},
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
