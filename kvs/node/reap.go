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

// Reap ends every process that a pid file in the folder stands for, one that is
// stopped too, and waits until they have gone. It removes their files, and those
// of processes that have ended before. ended says in a line each what it has ended;
// a folder that is not there is empty.
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
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // the process itself has removed it
			errs = append(errs, err)
		}
	}
	return ended, errors.Join(errs...)
}

// What a node's program does for a launcher beside its work, by its first
// argument.
const (
	reapFlag   = "-reap"   // end what was left behind, see Reap
	signalFlag = "-signal" // NAME PID START: send one process a signal, see Signal
)

// signals are those that a launcher sends.
var signals = map[string]syscall.Signal{"KILL": syscall.SIGKILL, "QUIT": syscall.SIGQUIT}

// SignalWords is the command line with which a node's program sends a signal.
func SignalWords(id metrics.ProcessID, signal syscall.Signal) []string {
	for name, s := range signals {
		if s == signal {
			return []string{signalFlag, name, strconv.Itoa(id.PID), strconv.FormatUint(id.StartTicks, 10)}
		}
	}
	panic(fmt.Sprintf("signal %v is none that a launcher sends", signal))
}

// ReapWords is the command line with which a node's program reaps. It prints a
// line "kvlab NUMBER TEXT" for each of Reap's.
func ReapWords() []string { return []string{reapFlag} }

// tidy carries out a command line of SignalWords or ReapWords.
func tidy(args []string, stdout io.Writer) error {
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

// parseSignal reads what follows -signal.
func parseSignal(args []string) (id metrics.ProcessID, signal syscall.Signal, ok bool) {
	if len(args) != 3 {
		return id, 0, false
	}
	pid, errPID := strconv.Atoi(args[1])
	start, errStart := strconv.ParseUint(args[2], 10, 64)
	signal, known := signals[args[0]]
	return metrics.ProcessID{PID: pid, StartTicks: start}, signal, known && pid > 0 && errPID == nil && errStart == nil
}
