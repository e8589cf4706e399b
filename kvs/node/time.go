package node

import (
	"time"

	"kvlab/metrics/clock"
)

// ClockSync is one moment by two clocks: the launcher's wall clock at the run's start,
// and the node's CLOCK_MONOTONIC (clock_gettime(2)), compared by the preflight.
type ClockSync struct {
	Date        time.Time `json:"date"`
	MonotonicNS int64     `json:"monotonic_ns"`
}

// runClock converts between this process's time and run time: the wall clock at one
// moment, advanced by the monotonic clock. Setting a wall clock does not change run
// time, and the launcher's ClockSync makes it the same on all nodes.
type runClock struct {
	date   time.Time // the moment in run time
	moment time.Time // the same, with this process's monotonic reading
}

// runClockOf returns a clock that starts at the launcher's ClockSync.
func runClockOf(s ClockSync) runClock {
	return runClock{s.Date.Round(0), clock.New().Time(s.MonotonicNS)}
}

// ToRun converts a time of this process to run time: the launcher's wall clock at the
// run's start, or without a launcher this machine's, advanced by the monotonic clock.
// Zero stays zero.
func (n *Node) ToRun(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return n.clock.date.Add(t.Sub(n.clock.moment))
}

// FromRun converts run time to a time of this process, with a monotonic reading. Zero
// stays zero.
func (n *Node) FromRun(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return n.clock.moment.Add(t.Sub(n.clock.date))
}

// Now returns the current run time.
func (n *Node) Now() time.Time { return n.ToRun(n.now()) }
