package trial

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
)

// counted reports whether the run ends with its operations.
func (c *Controller) counted() bool { return c.of(metrics.Client)[0].settings().Ops() > 0 }

// fits reports whether the rounds decide the least length of the window. They do in a closed
// loop that is no ceiling and no soak, and has no restart, unless its operations end it.
func (c *Controller) fits() bool {
	return !c.Typed && !c.counted() && c.Soak == 0 && c.Plan.RestartAt == 0 && c.of(metrics.Client)[0].settings()["rate"] == ""
}

// leastWindow returns the length of the window by the flags. If the rounds decide its length,
// it returns the experiment's, which may be longer.
func (c *Controller) leastWindow() time.Duration {
	typed := max(c.of(metrics.Client)[0].settings().Secs(), 0)
	if c.fits() {
		return max(typed, c.Window)
	}
	return typed
}

// fitWindow proposes the length of the window, from the longest recent round of any worker. It
// returns a fault if WindowRounds of these are longer than any window. The fault asks for a
// lower default of -batch, unless the deadline is what is near: another trial would have no
// time either.
func (c *Controller) fitWindow() *plan.Fault {
	m, asked := c.slowest(), c.leastWindow()
	typed := max(m.settings().Secs(), 0)
	c.window = &metrics.WindowLength{AskedS: typed.Seconds(), UsedS: asked.Seconds(), Batch: c.batchNow()}
	if c.ownsBatch() {
		c.window.DefaultBatch = c.Asked[metrics.Client].Batch()
	}
	c.opening.length = asked
	if !c.fits() {
		return nil
	}
	needs := (metrics.WindowRounds*m.round + halfSecond - 1).Truncate(halfSecond)
	c.window.RoundS, c.window.NeedsS = m.round.Seconds(), needs.Seconds()
	longest, why, smaller := max(metrics.LongestWindow, typed), "the longest window is", uint64(0)
	if needs > longest {
		smaller = c.smallerBatch(float64(longest) / float64(needs))
	}
	if left := time.Until(c.ends); !c.ends.IsZero() && left < longest {
		longest, why, smaller = left, "--deadline leaves", 0
	}
	switch {
	case needs > longest:
		slow := fmt.Sprintf("%d rounds take %.0f s, %s %.0f s", metrics.WindowRounds, needs.Seconds(), why, longest.Seconds())
		if smaller > 0 {
			fmt.Fprintf(c.Stderr, "batch lowered from %d to %d, and the trial made again: %s\n", c.batchNow(), smaller, slow)
		}
		f := m.fault(plan.BadArgs, "-batch %d: %s: want %s", c.batchNow(), slow, fitting(m.settings(), c.batchNow(), float64(longest)/float64(needs)))
		f.Batch = smaller
		return f
	case c.Window == 0:
		c.opening.length = max(asked, needs)
	case metrics.LeastRounds*m.round > asked: // the trials of an experiment keep one length while it is enough, so a new one has room
		c.opening.length = min(longest, time.Duration(metrics.WindowRoom*float64(needs)))
	}
	return nil
}

// seconds converts a length of time as the protocol has it.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// A lengthened window is a multiple of halfSecond.
const halfSecond = time.Second / 2

// slowest returns the client with the longest recent round.
func (c *Controller) slowest() *process {
	slowest := c.of(metrics.Client)[0]
	for _, m := range c.of(metrics.Client) {
		if m.round > slowest.round {
			slowest = m
		}
	}
	return slowest
}

// fitting returns the flag with which rounds of a batch take a share of their present time.
func fitting(s metrics.Settings, now uint64, share float64) string {
	if batch := float64(now) * share; batch >= 1 {
		return fmt.Sprintf("-batch %d or less", powerBelow(batch))
	}
	return fmt.Sprintf("-workers %d or less", max(1, powerBelow(float64(s.Workers())*share)))
}

// powerBelow returns the largest power of two up to x; 0 below 1.
func powerBelow(x float64) uint64 { return 1 << bits.Len64(uint64(x)) >> 1 }

// opening is when the window opens and how long it is. A pair's trials agree on the later
// and the longer.
type opening struct {
	at     time.Time
	length time.Duration
}

// agree decides with the other trial of a pair, and tells the clients.
func (c *Controller) agree(other opening) {
	if other.at.After(c.opening.at) {
		c.opening.at = other.at
	}
	c.opening.length = max(c.opening.length, other.length)
	c.tell()
}

// tell tells all clients when the window opens, and its length.
func (c *Controller) tell() {
	o := c.opening
	before := max(c.window.AskedS, c.Window.Seconds())
	c.window.UsedS = o.length.Seconds()
	var longer []string
	if late := o.at.Sub(c.begin) - c.warmUpLength(); late > lead {
		longer = append(longer, fmt.Sprintf("warm-up lengthened by %.1f s: %d rounds", late.Seconds(), metrics.WarmUpRounds))
	}
	if room := ""; c.window.UsedS > before && !c.counted() {
		if c.Window > 0 {
			room = ", and half as many more for the other trials"
		}
		longer = append(longer, fmt.Sprintf("window lengthened from %g s to %g s: %d rounds%s", before, c.window.UsedS, metrics.WindowRounds, room))
	}
	if longer != nil {
		fmt.Fprintln(c.Stderr, strings.Join(longer, "; "))
	}
	for _, m := range c.of(metrics.Client) {
		m.arrive(c.runTime(time.Now()), metrics.Arrival{Event: metrics.Told, Window: c.window})
	}
	c.sendAt(o.at, node.Command{Do: node.Settle, Extend: c.extended, Length: c.window.UsedS})
	c.readAround(o.at, o.at.Add(o.length))
}
