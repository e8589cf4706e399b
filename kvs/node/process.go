package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"kvlab/metrics"
	"kvlab/metrics/usage"
)

// Find returns the process that has a number now; the zero ID if there is none, or only a
// zombie.
func Find(pid int) (metrics.ProcessID, error) {
	var stat procfs.ProcStat
	proc, err := procfs.NewProc(pid)
	if err == nil {
		stat, err = proc.Stat()
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || stat.State == "Z" || stat.State == "X" {
		return metrics.ProcessID{}, nil
	}
	return metrics.ProcessID{PID: pid, StartTicks: stat.Starttime}, err
}

// ProcessorTime returns the processor time that exactly this process has used since its
// start, to two clock ticks; false if it is not on this machine or has ended.
func ProcessorTime(id metrics.ProcessID) (time.Duration, bool) {
	proc, err := procfs.NewProc(id.PID)
	if err != nil {
		return 0, false
	}
	stat, err := proc.Stat()
	return time.Duration(stat.UTime+stat.STime) * usage.ClockTick, err == nil && stat.Starttime == id.StartTicks
}

// Signal sends a signal to exactly this process, never to a later one with its number. After
// SIGKILL it waits until the process has ended. A process that has ended is no error.
func Signal(id metrics.ProcessID, signal syscall.Signal) error {
	err := send(id, signal)
	if err == nil && signal == syscall.SIGKILL {
		err = waitGone(id)
	}
	return err
}

// send sends a signal as Signal does, and does not wait.
func send(id metrics.ProcessID, signal syscall.Signal) error {
	// The handle refers to the same process even if its number is used again
	// (pidfd_open(2)), so it is taken before the start time is compared.
	handle, err := os.FindProcess(id.PID)
	if err != nil {
		return fmt.Errorf("process %d: %w", id.PID, err)
	}
	defer handle.Release()
	if now, err := Find(id.PID); err != nil || now != id {
		return err
	}
	if err := handle.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	return nil
}

// goneWithin is how long a killed process may take to end: the kernel takes seconds to
// free tens of gigabytes.
const goneWithin = 30 * time.Second

// waitGone waits until a killed process has ended.
func waitGone(id metrics.ProcessID) error {
	for deadline := time.Now().Add(goneWithin); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if now, err := Find(id.PID); err == nil && now != id {
			return nil
		}
	}
	return fmt.Errorf("process %d still exists %v after SIGKILL", id.PID, goneWithin)
}

// SignalWords returns the arguments with which a node's program sends a signal.
func SignalWords(id metrics.ProcessID, signal syscall.Signal) []string {
	return []string{signalFlag, unix.SignalName(signal), strconv.Itoa(id.PID), strconv.FormatUint(id.StartTicks, 10)}
}

// sendSignal executes the arguments of SignalWords.
func sendSignal(args []string) error {
	if len(args) == 3 {
		pid, errPID := strconv.Atoi(args[1])
		start, errStart := strconv.ParseUint(args[2], 10, 64)
		if signal := unix.SignalNum(args[0]); signal != 0 && pid > 0 && errPID == nil && errStart == nil {
			return Signal(metrics.ProcessID{PID: pid, StartTicks: start}, signal)
		}
	}
	return UsageError{fmt.Errorf("%s: want a signal such as SIGKILL, a pid, and the process's start in clock ticks", signalFlag)}
}
