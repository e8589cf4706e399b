// Package timer has a timer of microsecond precision.
package timer

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Timer sleeps with microsecond precision. In an idle process Go's timers do
// not: the runtime's poller waits in whole milliseconds (runtime/netpoll_epoll.go).
// Timer is a file descriptor to that poller and a high-resolution timer to the
// kernel (timerfd_create(2)). One goroutine uses it.
type Timer struct {
	fd   int // of file
	file *os.File
}

// New returns a timer whose Sleep returns at once when ctx ends.
func New(ctx context.Context) (*Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a timer (timerfd_create): %w", err)
	}
	t := &Timer{fd: fd, file: os.NewFile(uintptr(fd), "timer")}
	context.AfterFunc(ctx, func() { _ = t.file.SetReadDeadline(time.Unix(1, 0)) })
	return t, nil
}

// Sleep waits for d > 0, or until the context ends, which is not an error.
func (t *Timer) Sleep(d time.Duration) error {
	when := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if err := unix.TimerfdSettime(t.fd, 0, &when, nil); err != nil {
		return fmt.Errorf("set a timer of %v (timerfd_settime): %w", d, err)
	}
	var expirations [8]byte
	if _, err := t.file.Read(expirations[:]); err != nil && !os.IsTimeout(err) {
		return fmt.Errorf("wait for a timer of %v: %w", d, err)
	}
	return nil
}

// Close frees the timer.
func (t *Timer) Close() error { return t.file.Close() }
