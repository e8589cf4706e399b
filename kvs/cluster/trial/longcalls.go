package trial

import (
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
	"kvlab/workload/size"
)

// longCalls returns a fault if the slowest link makes calls longer than the clients'
// -call-timeout: with all rounds of a closed loop under way, it carries their values and
// keys. Each goes one way or the other, so at least half of their bytes go the same way. The fault is
// nil where the link's rate is not known.
func (c *Controller) longCalls() error {
	m := c.of(metrics.Client)[0]
	s, bitsPerS := m.settings(), c.Preflight.SlowestLink()
	if bitsPerS == 0 || s["rate"] != "" || s.SavesBytes() || s.Is("repeat") {
		return nil
	}
	workers, batch, limit := s.Number("workers"), s.Number("batch"), s.Length("call-timeout") // batch 0: auto
	calls := max(s.Number("inflight"), 1) * workers * uint64(max(c.Plan.Count(metrics.Server), c.Plan.Count(metrics.Client)))
	call := batch * size.OfRecord(s["value-size"], s["key-size"])
	if limit := s.Number("batch-bytes"); limit > 0 {
		call = min(call, limit)
	}
	bytes := calls * call / 2
	took := time.Duration(float64(8*bytes) / float64(bitsPerS) * float64(time.Second))
	if limit <= 0 || took <= limit {
		return nil
	}
	return m.fault(plan.BadArgs, "-workers %d -batch %d: a link of %g Gb/s carries the %d MB of %d calls in %.0f s at best, and -call-timeout is %g s: want -batch %d or less",
		workers, batch, float64(bitsPerS)/1e9, bytes/1e6, calls, took.Seconds(), limit.Seconds(), max(1, int(float64(batch)*limit.Seconds()/took.Seconds()/2)))
}
