package virtual

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// runInit is pid 1 of a lab. It waits for a byte through the gate, which Enter sends once
// the guard runs; if the parent dies before, the gate reads end of file. Then it starts
// the program, passes signals on to it, reaps orphans, and returns the program's exit
// status.
func runInit() (status int, err error) {
	gate := os.NewFile(3, "gate")
	if n, _ := gate.Read(make([]byte, 1)); n == 0 {
		return 0, errors.New("the lab's parent is gone")
	}
	gate.Close()
	if err := privateMounts(); err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	program, err := os.StartProcess(self, append([]string{hubName}, os.Args[1:]...), &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return 0, fmt.Errorf("start the launcher in the lab: %w", err)
	}
	go func() {
		for s := range signals {
			program.Signal(s)
		}
	}()
	return reap(program.Pid)
}

// reap waits for children until the one that matters ends, and returns its exit status: a
// shell's 130 if it is interrupted before it listens to signals.
func reap(matters int) (status int, err error) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait for the launcher in the lab: %w", err)
		case pid != matters:
		case status.Signaled() && status.Signal() == syscall.SIGINT:
			return 130, nil
		case status.Signaled():
			return 0, fmt.Errorf("the launcher in the lab died of signal %d (%s)", status.Signal(), status.Signal())
		default:
			return status.ExitStatus(), nil
		}
	}
}
