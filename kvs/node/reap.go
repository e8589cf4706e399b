package node

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"kvlab/metrics"
)

// Reap kills every process with a pid file, stopped ones too, waits until they have
// ended, and removes the pid files. ended has a line for each killed process. A missing
// folder is no error.
func Reap() (ended []string, err error) {
	folder, err := pidFolder()
	if err != nil {
		return nil, err
	}
	if err := checkOwn(folder); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"+pidSuffix))
	if err != nil { // only for a bad pattern
		return nil, err
	}
	var errs []error
	for _, path := range files {
		f, alive, err := readPidFile(path)
		if err == nil && alive {
			if err = Signal(f.ProcessID, syscall.SIGKILL); err == nil {
				ended = append(ended, f.String())
			}
		}
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // the process may remove it itself
			errs = append(errs, err)
		}
	}
	return ended, errors.Join(errs...)
}

// signals are the ones that a launcher sends.
var signals = map[string]syscall.Signal{"KILL": syscall.SIGKILL, "QUIT": syscall.SIGQUIT}

// SignalWords returns the arguments with which a node's program sends a signal.
func SignalWords(id metrics.ProcessID, signal syscall.Signal) []string {
	for name, s := range signals {
		if s == signal {
			return []string{signalFlag, name, strconv.Itoa(id.PID), strconv.FormatUint(id.StartTicks, 10)}
		}
	}
	panic(fmt.Sprintf("a launcher does not send signal %v", signal))
}

// printReaped executes ReapFlag: it prints each line of Reap as "kvlab NUMBER TEXT".
func printReaped(stdout io.Writer) error {
	ended, err := Reap()
	for i, line := range ended {
		fmt.Fprintf(stdout, "kvlab %d %s\n", i, line)
	}
	return err
}

// sendSignal executes the arguments of SignalWords.
func sendSignal(args []string) error {
	if len(args) == 3 {
		pid, errPID := strconv.Atoi(args[1])
		start, errStart := strconv.ParseUint(args[2], 10, 64)
		if signal, known := signals[args[0]]; known && pid > 0 && errPID == nil && errStart == nil {
			return Signal(metrics.ProcessID{PID: pid, StartTicks: start}, signal)
		}
	}
	return UsageError{fmt.Errorf("%s: want KILL or QUIT, a pid, and the process's start in clock ticks", signalFlag)}
}
