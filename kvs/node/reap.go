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

// Reap kills every process with a pid file in the folder, stopped ones too, waits until
// they have ended, and removes the pid files. ended has a line for each killed process.
// A missing folder is no error.
func Reap(folder string) (ended []string, err error) {
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

// The maintenance commands of a node's program.
const (
	reapFlag   = "-reap"   // see Reap
	signalFlag = "-signal" // NAME PID START: see Signal
)

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

// ReapWords returns the arguments with which a node's program reaps. It prints each line
// of Reap as "kvlab NUMBER TEXT".
func ReapWords() []string { return []string{reapFlag} }

// maintenance executes a command line of SignalWords or ReapWords.
func maintenance(args []string, stdout io.Writer) error {
	if args[0] == reapFlag {
		folder, err := PidFolder()
		if err != nil {
			return err
		}
		ended, err := Reap(folder)
		for i, line := range ended {
			fmt.Fprintf(stdout, "kvlab %d %s\n", i, line)
		}
		return err
	}
	if id, signal, ok := parseSignal(args[1:]); ok {
		return Signal(id, signal)
	}
	return UsageError{fmt.Errorf("%s: want KILL or QUIT, a pid, and the process's start in clock ticks", signalFlag)}
}

// parseSignal parses the arguments of -signal.
func parseSignal(args []string) (id metrics.ProcessID, signal syscall.Signal, ok bool) {
	if len(args) != 3 {
		return id, 0, false
	}
	pid, errPID := strconv.Atoi(args[1])
	start, errStart := strconv.ParseUint(args[2], 10, 64)
	signal, known := signals[args[0]]
	return metrics.ProcessID{PID: pid, StartTicks: start}, signal, known && pid > 0 && errPID == nil && errStart == nil
}
