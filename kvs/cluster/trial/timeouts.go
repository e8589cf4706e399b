package trial

import (
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
)

// Timeouts are the Controller's limits for each step.
type Timeouts struct {
	Connect time.Duration // for servers to listen and clients to connect
	Load    time.Duration // for all records to be stored and read back
	Work    time.Duration // beyond warm-up and window, for what is in flight
	Report  time.Duration // for the servers' reports
	Lead    time.Duration // for a command with a time to reach every client before that time
	Silence time.Duration // between two messages of one node
	Beat    time.Duration // between two heartbeats of the launcher
	Alone   time.Duration // for a node without a heartbeat
	Dump    time.Duration // for a node to log its goroutines' stacks
	Reach   time.Duration // for a signal over a separate connection
	Leave   time.Duration // for a node to stop its work and exit
	Exit    time.Duration // for a process that is done, or killed, to end
	Grace   time.Duration // for the report of a cause after that of its effect
}

// DefaultTimeouts are long enough for slow machines. A dead node is detected by its
// silence, long before a stage's limit.
func DefaultTimeouts() Timeouts {
	return Timeouts{
		Connect: time.Minute,      // ssh's own limits end a dead connection in 20 s
		Load:    30 * time.Minute, // 10^9 records at 1M/s, twice over
		Work:    time.Minute,      // a round under way when the window closes
		Report:  30 * time.Second,
		Lead:    200 * time.Millisecond, // less than loadgen's askBefore, so that a warm-up ends in time
		Silence: 8 * time.Second,        // nodes send an interval each second
		Beat:    3 * time.Second,
		Alone:   12 * time.Second, // four beats; gone within 15 s of a cut
		Dump:    time.Second,
		Reach:   3 * time.Second, // a login takes one
		Leave:   2 * time.Second,
		Exit:    30 * time.Second,       // the kernel takes seconds to free some ten gigabytes
		Grace:   500 * time.Millisecond, // a killed process is reported in milliseconds, through ssh too
	}
}

// unlimited is the limit of work of unknown length.
const unlimited time.Duration = 1 << 62

// workLimit returns the limit of warm-up, window and drain, from the clients' flags. If
// a client reports no lengths, only its silence limits it.
func (c *Controller) workLimit() time.Duration {
	var longest time.Duration
	for _, m := range c.of(metrics.Client) {
		s := m.settings()
		if s.WarmUp < 0 || s.Window < 0 {
			return unlimited
		}
		longest = max(longest, 2*s.WarmUp+s.Window) // the warm-up may be extended
	}
	return longest + c.Timeouts.Work
}

// settings returns the settings that the process has reported.
func (m *process) settings() plan.Settings {
	if m.config == nil {
		return plan.ReadSettings(nil)
	}
	return plan.ReadSettings(m.config.Flags)
}
