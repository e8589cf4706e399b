package trial

import (
	"cmp"
	"fmt"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
	"kvlab/workload/size"
)

// batchFlag is the clients' flag that the launcher lowers if nobody typed it.
const batchFlag = "batch"

// mostLowered is how often a trial is made again with a smaller default of -batch. Each leaves
// room for rounds half as long again.
const mostLowered = 2

// ownsBatch reports whether -batch has its default. The launcher may lower that.
func (c *Controller) ownsBatch() bool {
	m := c.of(metrics.Client)[0]
	return m.Config != nil && !plan.HasFlag(m.Config.Args, batchFlag)
}

// batchNow returns the batch in use.
func (c *Controller) batchNow() uint64 {
	return cmp.Or(c.batch, c.of(metrics.Client)[0].settings().Batch())
}

// smallerBatch returns the -batch with which rounds take a share below 1 of their present time,
// with room for longer ones. It returns 0 if the trial is not to be made again for it.
func (c *Controller) smallerBatch(share float64) uint64 {
	if !c.ownsBatch() || c.Lowered >= mostLowered {
		return 0
	}
	return powerBelow(float64(c.batchNow()) * share / metrics.WindowRoom)
}

// fitLink lowers the default of -batch to the setup's. It lowers it further if calls over the
// slowest link would take longer than the clients' -call-timeout. The link carries the keys and
// values of all rounds of a closed loop in flight. Each goes one way or the other, so at least
// half of their bytes go the same way. A typed -batch that makes calls so long is an error. If
// the link's rate is not known, fitLink does nothing more.
func (c *Controller) fitLink() error {
	if c.Batch > 0 && c.ownsBatch() && c.Batch < c.batchNow() {
		c.batch = c.Batch
	}
	m := c.of(metrics.Client)[0]
	s, bitsPerS := m.settings(), c.Preflight.SlowestLink()
	if bitsPerS == 0 || s.Open() || s.SavesBytes() || s.Repeat() {
		return nil
	}
	workers, batch, limit := s.Workers(), c.batchNow(), s.CallTimeout() // batch 0: auto
	calls := uint64(s.InFlight() * workers * max(c.Plan.Count(metrics.Server), c.Plan.Count(metrics.Client)))
	call := batch * size.OfRecord(s.ValueSize(), s.KeySize())
	if limit := s.BatchBytes(); limit > 0 {
		call = min(call, limit)
	}
	bytes := calls * call / 2
	took := time.Duration(float64(8*bytes) / float64(bitsPerS) * float64(time.Second))
	why := fmt.Sprintf("a link of %g Gb/s carries the %d MB of %d calls in %.0f s at best", float64(bitsPerS)/1e9, bytes/1e6, calls, took.Seconds())
	if !plan.HasFlag(m.Config.Args, batchFlag) && !plan.HasFlag(m.Config.Args, "batch-bytes") {
		c.lower(took, why)
		return nil
	}
	if limit <= 0 || took <= limit {
		return nil
	}
	return m.fault(plan.BadArgs, "-workers %d -batch %d: %s, and -call-timeout is %g s: want %s", workers, batch, why, limit.Seconds(), fitting(s, batch, float64(limit)/float64(took)/2))
}

// fitLoad lowers the default of -batch if the load's speed says that calls would be longer than the
// clients' -call-timeout.
func (c *Controller) fitLoad() {
	m := c.slowest()
	if !c.ownsBatch() || m.round == 0 {
		return
	}
	round := m.round
	if c.batch > 0 {
		round = time.Duration(float64(round) * float64(c.batch) / float64(m.settings().Batch()))
	}
	c.lower(round, fmt.Sprintf("at the load's speed a round takes %.0f s", round.Seconds()))
}

// outlasts says why a call had no reply in time, if the load's speed explains it; else "".
func (c *Controller) outlasts() string {
	m := c.slowest() // its round is the load's estimate, until it is warm
	s := m.settings()
	limit := s.CallTimeout()
	if m.warm || limit <= 0 || m.round <= limit {
		return ""
	}
	return fmt.Sprintf("at the load's speed a round takes %.0f s, and -call-timeout is %g s: want %s", m.round.Seconds(), limit.Seconds(), fitting(s, s.Batch(), float64(limit)/float64(m.round)/2))
}

// lower lowers the default of -batch if a round of this length is too long: over an eighth of the
// clients' -call-timeout, or of the longest round that a window may have. On a busy machine the
// first round, of 1 GB of memory that nobody touched before, took five times as long as the load's
// speed says.
func (c *Controller) lower(round time.Duration, why string) {
	s := c.of(metrics.Client)[0].settings()
	most := metrics.LongestWindow / metrics.WindowRounds
	if limit := s.CallTimeout(); limit > 0 {
		most = min(most, limit)
	}
	was := c.batchNow()
	most /= 8
	if round <= most || was <= 1 {
		return
	}
	c.batch = max(1, powerBelow(float64(was)*float64(most)/float64(round)))
	fmt.Fprintf(c.Stderr, "batch lowered from %d to %d: %s, and %.3g s leave time for a busy machine\n", was, c.batch, why, most.Seconds())
}
