package trial

import (
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
)

// Timeouts are how long the Controller waits for each step.
type Timeouts struct {
	Connect time.Duration // for servers to listen and clients to connect
	Load    time.Duration // for all records to be stored and read back
	Work    time.Duration // beyond warm-up and window, for what is in flight
	Report  time.Duration // for the servers' reports
	Lead    time.Duration // for every client to hear of a moment before it comes
	Silence time.Duration // between two signs of life of one node
	Beat    time.Duration // from one sign of the launcher's life to the next
	Alone   time.Duration // for a node without such a sign
	Dump    time.Duration // for a node to log its goroutines' stacks
	Reach   time.Duration // for a signal over a connection of its own
	Leave   time.Duration // for a node to break off what it does and leave
	Exit    time.Duration // for a process that is done, or killed, to end
	Grace   time.Duration // for the cause to be heard of, after an effect
}

// DefaultTimeouts are generous where a slow machine would need it: a node that
// is dead is noticed by its silence, long before a stage's own limit.
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

// unlimited is the limit of work whose length nobody knows.
const unlimited time.Duration = 1 << 62

// workLimit is how long warm-up, window and drain may take, from the clients'
// own flags. A client that states no lengths is bounded by its silence alone.
func (c *Controller) workLimit() time.Duration {
	var longest time.Duration
	for _, m := range c.of(metrics.Client) {
		s := m.settings()
		if s.WarmUp < 0 || s.Window < 0 {
			return unlimited
		}
		longest = max(longest, 2*s.WarmUp+s.Window) // the warm-up may be extended
	}
	return longest + c.timeouts.Work
}

// settings are those that the member has reported.
func (m *process) settings() plan.Settings {
	if m.config == nil {
		return plan.ReadSettings(nil)
	}
	return plan.ReadSettings(m.config.Flags)
}
