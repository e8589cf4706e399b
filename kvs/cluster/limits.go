package cluster

import (
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
)

// limits are how long the conductor waits for what.
type limits struct {
	connect time.Duration // for servers to listen and clients to connect
	load    time.Duration // for all records to be stored and read back
	work    time.Duration // beyond warm-up and window, for what is in flight
	report  time.Duration // for the servers' reports
	lead    time.Duration // for every client to hear of a moment before it comes
	silence time.Duration // between two signs of life of one node
	beat    time.Duration // from one sign of the launcher's life to the next
	alone   time.Duration // for a node without such a sign
	dump    time.Duration // for a node to log its goroutines' stacks
	reach   time.Duration // for a signal over a connection of its own
	leave   time.Duration // for a node to break off what it does and leave
	exit    time.Duration // for a process that is done, or killed, to end
	grace   time.Duration // for the cause to be heard of, after an effect
}

// defaultLimits are generous where a slow machine would need it: a node that
// is dead is noticed by its silence, long before a stage's own limit.
func defaultLimits() limits {
	return limits{
		connect: time.Minute,      // ssh's own limits end a dead connection in 20 s
		load:    30 * time.Minute, // 10^9 records at 1M/s, twice over
		work:    time.Minute,      // a round under way when the window closes
		report:  30 * time.Second,
		lead:    200 * time.Millisecond, // less than loadgen's askBefore, so that a warm-up ends in time
		silence: 8 * time.Second,        // nodes send an interval each second
		beat:    3 * time.Second,
		alone:   12 * time.Second, // four beats; gone within 15 s of a cut
		dump:    time.Second,
		reach:   3 * time.Second, // a login takes one
		leave:   2 * time.Second,
		exit:    30 * time.Second,       // the kernel takes seconds to free some ten gigabytes
		grace:   500 * time.Millisecond, // a killed process is reported in milliseconds, through ssh too
	}
}

// unlimited is the limit of work whose length nobody knows.
const unlimited time.Duration = 1 << 62

// workLimit is how long warm-up, window and drain may take, from the clients'
// own flags. A client that states no lengths is bounded by its silence alone.
func (c *conductor) workLimit() time.Duration {
	var longest time.Duration
	for _, m := range c.of(metrics.Client) {
		s := m.settings()
		if s.WarmUp < 0 || s.Window < 0 {
			return unlimited
		}
		longest = max(longest, 2*s.WarmUp+s.Window) // the warm-up may be extended
	}
	return longest + c.limits.work
}

// settings are those that the member has reported.
func (m *member) settings() plan.Settings {
	if m.config == nil {
		return plan.ReadSettings(nil)
	}
	return plan.ReadSettings(m.config.Flags)
}
