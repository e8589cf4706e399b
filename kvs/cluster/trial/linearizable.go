package trial

import (
	"context"
	"errors"
	"slices"
	"time"

	"kvlab/kvs/history"
	"kvlab/kvs/history/serial"
	"kvlab/metrics"
)

// The limits of the slices that all clients record together: one in two seconds, but at
// most a fixed number in a long run, each with a limited number of operations of one
// client and of all clients.
const (
	sliceEvery    = 2 * time.Second
	mostSlices    = 60
	mostOps       = 4096
	mostOpsOfAll  = 1 << 16
	leastOps      = 64
	togetherLimit = time.Minute // for the verification of all of them: a second's work
)

// slicePlan returns when the clients record together: no slices with one client or
// where nothing is recorded.
func (c *Controller) slicePlan() metrics.SlicePlan {
	clients := c.of(metrics.Client)
	unchecked := func(m *process) bool { return !m.settings().Linearizable() && !m.settings().Serializable() }
	if len(clients) < 2 || slices.ContainsFunc(clients, unchecked) {
		return metrics.SlicePlan{}
	}
	work := c.typedLength()
	return metrics.SlicePlan{
		Every: max(sliceEvery, work%unlimited/mostSlices),
		Count: mostSlices,
		Ops:   max(leastOps, min(mostOps, mostOpsOfAll/len(clients))),
	}
}

// VerifyTogether verifies the slices that the clients recorded together. It is called
// after the run: this machine may run a server, and the clocks' drift is known only
// then.
func (c *Controller) VerifyTogether(ctx context.Context) {
	if c.slices.Count == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, togetherLimit)
	defer cancel()
	var shared []metrics.Slice
	ahead := make(map[int]metrics.ClockOffsetBounds)
	for i, m := range c.of(metrics.Client) {
		shared = append(shared, m.slices...)
		if a, ok := c.Preflight.ClockOffsetBounds(m.Name); ok {
			ahead[i] = a
		}
	}
	verify := history.VerifyTogether
	if c.of(metrics.Client)[0].settings().Serializable() {
		verify = serial.CheckTogether
	}
	found, bad := verify(ctx, shared, ahead)
	c.together, c.broken = &found, bad
}

// allClients replaces the node's name in the file of a history that all clients recorded
// together.
const allClients = "clients"

// SaveViolations writes the histories that are wrong to the run's folder, and
// prints how to verify them again.
func (c *Controller) SaveViolations() error {
	names, broken := []string{allClients}, []*metrics.Violation{c.broken}
	for _, m := range c.processes {
		names, broken = append(names, m.Name), append(broken, m.broken)
	}
	var errs []error
	for i, v := range broken {
		if v != nil {
			errs = append(errs, history.Save(c.Stderr, string(c.Dir), names[i], *v))
		}
	}
	return errors.Join(errs...)
}
