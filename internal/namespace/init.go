package namespace

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// Pass keeps the signals that this process gets from now on, and returns what passes them
// on to another process.
func Pass(signals ...os.Signal) (to func(*os.Process)) {
	got := make(chan os.Signal, 8)
	signal.Notify(got, signals...)
	return func(p *os.Process) {
		go func() {
			for s := range got {
				p.Signal(s)
			}
		}()
	}
}

// Reap waits for children, and the orphans that a pid 1 has for children, until the one
// that matters ends, and returns how.
func Reap(matters int) (syscall.WaitStatus, error) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, err
		case pid == matters:
			return status, nil
		}
	}
}
