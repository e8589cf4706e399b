package loadgen

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm is a timer that rings to the microsecond. Go's own timers do not when
// the process is otherwise idle: its poller waits in whole milliseconds (package
// runtime, netpoll_epoll.go). This one is a file descriptor to that poller, and a
// high-resolution timer to the kernel (timerfd_create(2)). It belongs to one
// goroutine.
type alarm struct {
	fd   int // of file
	file *os.File
	stop func() bool
}

// newAlarm returns an alarm whose sleep returns at once when ctx ends.
func newAlarm(ctx context.Context) (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a timer (timerfd_create): %w", err)
	}
	a := &alarm{fd: fd, file: os.NewFile(uintptr(fd), "timer")}
	a.stop = context.AfterFunc(ctx, func() { _ = a.file.SetReadDeadline(time.Unix(1, 0)) }) // else it rings by itself
	return a, nil
}

// sleep waits for d, more than 0, or for the context's end, which is no error.
func (a *alarm) sleep(d time.Duration) error {
	when := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if err := unix.TimerfdSettime(a.fd, 0, &when, nil); err != nil {
		return fmt.Errorf("set a timer of %v (timerfd_settime): %w", d, err)
	}
	var rung [8]byte
	if _, err := a.file.Read(rung[:]); err != nil && !os.IsTimeout(err) {
		return fmt.Errorf("wait for a timer of %v: %w", d, err)
	}
	return nil
}

func (a *alarm) close() {
	a.stop()
	a.file.Close()
}
