package node

import (
	"time"

	"kvlab/metrics/clock"
)

// Epoch is one moment by two clocks: the launcher's, when the run began, and a
// node's CLOCK_MONOTONIC (clock_gettime(2)), as the preflight found the two apart.
type Epoch struct {
	Date        time.Time `json:"date"`
	MonotonicNS int64     `json:"monotonic_ns"`
}

// calendar dates what happens in a process: by the wall clock of an epoch, counted
// on by the monotonic clock. Nobody who sets a wall clock moves such a date, and
// with the launcher's epoch the dates of all nodes are by one clock.
type calendar struct {
	date   time.Time // the epoch
	moment time.Time // the same, with this process's monotonic reading
}

// newCalendar begins now, by this machine's wall clock.
func newCalendar(now time.Time) calendar { return calendar{now.Round(0), now} }

// calendarOf begins at the launcher's epoch; without one now, by hand as well.
func calendarOf(e *Epoch, now time.Time) (calendar, error) {
	if e == nil {
		return newCalendar(now), nil
	}
	clock, err := clock.New()
	return calendar{e.Date.Round(0), clock.Time(e.MonotonicNS)}, err
}

// dateOf is when a moment of this process was; zero stays zero.
func (c calendar) dateOf(moment time.Time) time.Time {
	if moment.IsZero() {
		return moment
	}
	return c.date.Add(moment.Sub(c.moment))
}

// momentOf is a date as a moment of this process; zero stays zero.
func (c calendar) momentOf(date time.Time) time.Time {
	if date.IsZero() {
		return date
	}
	return c.moment.Add(date.Sub(c.date))
}

// Date is when a moment of this process was, by the clock that all of a run's nodes
// go by: the launcher's as it was when the run began, by hand this machine's when
// the process did. A step of a wall clock does not move it. Zero stays zero.
func (n *Node) Date(moment time.Time) time.Time { return n.calendar.dateOf(moment) }

// Today is the present Date.
func (n *Node) Today() time.Time { return n.Date(n.now()) }

// Moment is a Date as this process's own time, with a monotonic reading.
func (n *Node) Moment(date time.Time) time.Time { return n.calendar.momentOf(date) }
