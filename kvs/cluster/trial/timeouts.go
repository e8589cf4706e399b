package trial

import (
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
)

// Limits of the steps of a trial, long enough for slow machines. A dead node is detected
// by its silence, long before them.
const (
	connectLimit = time.Minute            // for servers to listen and clients to connect; ssh's own limits end a dead connection in 20 s
	loadLimit    = 30 * time.Minute       // for all records to be stored and read back: 10^9 at 1M/s, twice over
	drainLimit   = time.Minute            // beyond warm-up and window, for a round that is in flight when the window closes
	auditLimit   = time.Minute            // for the clients to read the audited keys and report; a second's work
	reportLimit  = 30 * time.Second       // for the servers' reports
	dumpLimit    = 5 * time.Second        // for a node to log its goroutines' stacks; a busy machine takes some seconds
	reachLimit   = 5 * time.Second        // for a signal over a separate connection; a login takes one second, three on a busy machine
	lead         = 200 * time.Millisecond // for a command with a time to reach every client before that time; less than loadgen's askLead, so that a warm-up ends in time

	unlimited time.Duration = 1 << 62 // the limit of work of unknown length
)

// Timeouts are the limits that decide what the Controller does about a node.
type Timeouts struct {
	Silence time.Duration // between two messages of one node
	Alone   time.Duration // for a node without a heartbeat
	Leave   time.Duration // for a node to stop its work and exit
	Exit    time.Duration // for a process that is done, or killed, to end
	Grace   time.Duration // for the report of a cause after that of its effect
}

// DefaultTimeouts are long enough for slow machines.
func DefaultTimeouts() Timeouts {
	return Timeouts{
		Silence: 8 * time.Second,  // nodes send an interval each second
		Alone:   12 * time.Second, // the launcher sends a heartbeat each second; gone within 15 s of a cut
		Leave:   2 * time.Second,
		Exit:    30 * time.Second,       // the kernel takes seconds to free some ten gigabytes
		Grace:   500 * time.Millisecond, // a killed process is reported in milliseconds, through ssh too
	}
}

// workLimit returns the limit of warm-up, window and drain. If a client reports no lengths,
// only its silence limits it.
func (c *Controller) workLimit() time.Duration {
	typed := c.typedLength()
	if typed < unlimited && c.fits() { // the rounds may lengthen the warm-up and the window
		typed += metrics.LongestWindow + metrics.WarmUpRounds*metrics.LongestWindow/metrics.WindowRounds
	}
	return min(unlimited, typed+drainLimit)
}

// typedLength returns the longest of the clients' warm-ups, extended, and windows by their flags.
func (c *Controller) typedLength() time.Duration {
	var longest time.Duration
	for _, m := range c.of(metrics.Client) {
		s := m.settings()
		warmUp, window := s.WarmUp(), s.Secs()
		if warmUp < 0 || window < 0 || window == 0 && c.counted() {
			return unlimited
		}
		longest = max(longest, 2*warmUp+window, 2*warmUp+c.Window)
	}
	return longest
}

// settings returns the settings that the process has reported.
func (m *process) settings() metrics.Settings {
	if m.Config == nil {
		return nil
	}
	return m.Config.Flags
}

// The launcher checks the time once a second. If a check is much later, the launcher
// itself was stopped (Ctrl-Z).
const (
	tickEvery   = time.Second
	longestTick = 3 * time.Second
)

// stopped returns how long this process was stopped since its last check of the time,
// and excludes that time from the processes' silence.
func (c *Controller) stopped(now time.Time) time.Duration {
	gap := now.Sub(c.ticked)
	c.ticked = now
	if gap < longestTick {
		return 0
	}
	for _, m := range c.processes {
		if !m.heard.IsZero() {
			m.heard = m.heard.Add(gap)
		}
	}
	return gap
}

// silent returns one of the processes that runs and has sent nothing for longer than a
// limit, or nil. Before its first message, a node has the time of a login.
func silent(processes []*process, now time.Time, limit time.Duration) *process {
	for _, m := range processes {
		if !m.heard.IsZero() && m.stage < done && now.Sub(m.heard) > limit {
			return m
		}
	}
	return nil
}

// unresponsive returns the fault of a process that did not act in time.
func (c *Controller) unresponsive(m *process, format string, args ...any) *plan.Fault {
	m.unresponsive = true
	return m.fault(plan.Hang, format, args...)
}
