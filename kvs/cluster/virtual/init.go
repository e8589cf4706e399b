package virtual

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"kvlab/internal/namespace"
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
	if err := errors.Join(namespace.Private(), namespace.Mount("proc", "/proc", "")); err != nil {
		return 0, err
	}
	pass := namespace.Pass(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	program, err := os.StartProcess(namespace.Self, append([]string{hubName}, os.Args[1:]...), &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return 0, fmt.Errorf("start the launcher in the lab: %w", err)
	}
	pass(program)
	ended, err := namespace.Reap(program.Pid)
	switch {
	case err != nil:
		return 0, fmt.Errorf("wait for the launcher in the lab: %w", err)
	case ended.Signaled() && ended.Signal() == syscall.SIGINT: // before it listens to signals
		return 130, nil
	case ended.Signaled():
		return 0, fmt.Errorf("the launcher in the lab died of signal %d (%s)", ended.Signal(), ended.Signal())
	}
	return ended.ExitStatus(), nil
}
