// Package clock tells one monotonic time for all processes of a run on one machine.
package clock

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Clock tells this process's times as CLOCK_MONOTONIC does, in nanoseconds: the
// same for all processes of a machine from one boot to the next, never stepped,
// except by time namespaces (clock_gettime(2), time_namespaces(7)). A time.Time
// counts from its own process's start. Safe for concurrent use.
type Clock struct {
	// ID names the clock: two processes with the same one may compare their
	// times. It is the boot's id and the time namespace; "" where it cannot be told.
	ID string
	// ErrorNs bounds how far Ns is from the clock.
	ErrorNs int64

	at time.Time
	ns int64
}

// clockReadings is how often the two clocks are read beside each other. The pair
// that took the least time counts.
const clockReadings = 20

// New returns this process's clock.
func New() Clock {
	best := Clock{ID: clockID()}
	for i := range clockReadings {
		before := time.Now()
		var ts unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // fails for an unknown clock only
		if took := int64(time.Since(before)); i == 0 || took < best.ErrorNs {
			best.at, best.ns, best.ErrorNs = before, ts.Nano(), took
		}
	}
	return best
}

// Ns returns what the clock showed at t, which has a monotonic reading.
func (c Clock) Ns(t time.Time) int64 { return c.ns + int64(t.Sub(c.at)) }

// Time returns when the clock showed ns, with a monotonic reading of this process.
func (c Clock) Time(ns int64) time.Time { return c.at.Add(time.Duration(ns - c.ns)) }

// clockID names the clock after the kernel's boot (random(4)) and the process's
// time namespace; a kernel without these has one for all.
func clockID() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, _ := os.Readlink("/proc/self/ns/time")
	return strings.TrimSpace(string(boot)) + " " + space
}
