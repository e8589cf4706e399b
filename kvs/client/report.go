package client

import (
	"fmt"
	"time"

	"kvlab/metrics"
)

// tick reports the second that has passed: as records for the .jsonl, and one
// line for the log.
func (c *client) tick() error {
	i, err := c.interval()
	if err != nil {
		return err
	}
	usage, err := c.sampler.Sample(i.Phase)
	if err != nil {
		return err
	}
	if i.Counts.Ops() > 0 {
		c.node.Logf("%s: %s operations per second, %d missed, cpu %.0f %%",
			i.Phase, metrics.Count(i.OpsPerS()), i.Counts.Misses, usage.CPUPercent)
	}
	return c.node.Report(metrics.Record{Usage: &usage})
}

// interval reports counts and histograms since its last call.
func (c *client) interval() (metrics.Interval, error) {
	c.mu.Lock()
	phase := c.phase
	c.mu.Unlock()
	now, total := time.Now(), c.generator.Counts()
	i := metrics.Interval{
		Phase:   phase,
		StartS:  c.lastEnd.Sub(c.started).Seconds(),
		LengthS: now.Sub(c.lastEnd).Seconds(),
		Counts:  total.Sub(c.last),
	}
	c.last, c.lastEnd = total, now
	if err := c.node.Report(metrics.Record{Interval: &i}); err != nil {
		return i, err
	}
	histograms, err := c.generator.Latency().Collect(i.StartS, i.LengthS)
	if err != nil {
		return i, err
	}
	for _, h := range histograms {
		if err := c.node.Report(metrics.Record{Histogram: &h}); err != nil {
			return i, err
		}
	}
	return i, nil
}

// summarize reports the rest of the last second and the whole run.
func (c *client) summarize() error {
	if _, err := c.interval(); err != nil {
		return err
	}
	s := c.generator.Summary()
	s.Usage = c.table
	c.node.Logf("Client %d finished operations.", c.config.Index)
	c.node.Logf("operations in all: %d get, %d put, %d read-modify-write in %d calls (%.1f each); %d hit, %d missed",
		s.Total.Gets, s.Total.Puts, s.Total.ReadModifyWrites, s.Total.Calls, float64(s.Total.Ops())/float64(max(s.Total.Calls, 1)),
		s.Total.Hits, s.Total.Misses)
	c.node.Logf("verified %d values, %d of them in full: %d wrong %s", s.Verification.Checked, s.Verification.Compared,
		s.Verification.Failures, s.Verification.First)
	for _, name := range []string{metrics.CallLatency, metrics.OpLatency} {
		c.node.Logf("closed-loop latency per %s: %s", name, s.Latency[name])
	}
	fmt.Fprint(c.node, s.Usage.Text("CLIENT"))
	c.node.Logf("throughput %.2f ops/s", s.OpsPerS())
	return c.node.Report(metrics.Record{Summary: &s})
}
