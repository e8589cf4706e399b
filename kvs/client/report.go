package client

import (
	"fmt"
	"io"

	"kvlab/kvs/history"
	"kvlab/kvs/history/serial"
	"kvlab/kvs/loadgen"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/latency"
)

// log reports an interval's latencies and logs its line.
func (c *client) log(i metrics.Interval, usage metrics.Usage) error {
	from := c.collected
	c.collected = loadgen.Clock()
	histograms, err := c.generator.Latency().Collect(i.StartS, i.LengthS)
	if err != nil {
		return err
	}
	stage := c.generator.Stage(from, loadgen.Clock())
	for _, h := range histograms {
		h.Stage = stage
		if err := c.node.Report(metrics.Record{Histogram: &h}); err != nil {
			return err
		}
	}
	if i.Counts.Ops() > 0 {
		c.node.Logf("%s: %s operations per second, %.1f per call, %d missed, cpu %.0f %%",
			i.Phase, format.Count(i.OpsPerS()), i.Counts.PerCall(), i.Counts.Misses, usage.CPUPercent)
	}
	return nil
}

// summarize reports the whole run.
func (c *client) summarize() error {
	if err := c.reporter.Cut(); err != nil {
		return err
	}
	s := c.generator.Summary()
	window := c.reporter.Window()
	s.WindowStart = c.node.ToRun(s.WindowStart)
	for i := range s.Peers {
		peer := &s.Peers[i]
		if peer.FirstReply = c.node.ToRun(peer.FirstReply); !peer.FirstReply.IsZero() {
			c.node.Logf("server %s was restarted on its store: the outcome of %s is unknown", peer.Peer, format.Plural(peer.Unknown.Ops(), "operation"))
		}
	}
	s.Usage, s.Saturation = window.Usage, window.Saturation
	c.node.Logf("Client %d finished operations.", c.config.Index)
	c.node.Logf("operations in all: %s in %d calls (%.1f each); %d hit, %d missed",
		s.Total.KindText(), s.Total.Calls, s.Total.PerCall(),
		s.Total.Hits, s.Total.Misses)
	if c.config.AutoBatch {
		c.node.Logf("batch auto: %.1f operations per call in the window, for calls of up to %v", s.InWindow.PerCall(), c.config.TargetLatency)
	}
	ops := float64(max(s.InWindow.Ops(), 1))
	c.node.Logf("bytes per operation in the window: %.1f sent, %.1f received", float64(s.BytesInWindow.Sent)/ops, float64(s.BytesInWindow.Received)/ops)
	if s.CacheBytes > 0 {
		c.node.Logf("-cache %s: %s", &c.config.Cached, format.Bytes(s.CacheBytes))
	}
	c.node.Logf("verified %d values, %d of them in full: %d wrong %s", s.Verification.Checked, s.Verification.Compared,
		s.Verification.Failures, s.Verification.First)
	if !c.node.Controlled() {
		c.node.Logf("without a launcher the key of the values is fixed: a store that knows it could make them up")
	}
	if n := s.Verification.Unchecked; n > 0 {
		c.node.Logf("-verify none: %d values were not checked: what follows is no result", n)
	}
	if n := s.Verification.AnyKey; n > 0 {
		c.node.Logf("ceiling: %d of these were the value of any key, from a server without a store: what follows is no result", n)
	}
	if s.Retries != nil {
		c.node.Logf("%s", s.Retries)
	}
	if s.Check != nil {
		c.node.Logf("%s %s", s.Check.Text(), s.Check.First)
	}
	c.node.Logf("%s", metrics.LoopText(s.Offered, s.InWindow.Ops()))
	for _, name := range latency.Names {
		if q, ok := s.Latency[name]; ok {
			c.node.Logf("latency %s: %s", name, q)
		}
	}
	fmt.Fprint(c.node, s.Usage.Text("CLIENT"))
	c.node.Logf("throughput %.2f ops/s", s.OpsPerS())
	if v := c.generator.Violation(); v != nil {
		err := c.node.Report(metrics.Record{Violation: v}) // does nothing without a launcher
		if !c.node.Controlled() {
			err = history.Save(c.node, ".", c.config.Node, *v)
		}
		if err != nil {
			return err
		}
	}
	return c.node.Report(metrics.Record{Summary: &s})
}

// verifyHistory verifies a saved history again, and draws its picture beside the file.
func verifyHistory(out io.Writer, path string) error {
	if f, err := serial.Load(path); err == nil {
		return verifySerial(out, path, &f.History)
	}
	v, err := history.Read(path)
	if err != nil {
		return fmt.Errorf("-verify-history: %w", err)
	}
	fmt.Fprintf(out, "key %s, slice %d: %d operations of %d workers\n", v.History.Key, v.History.Slice, len(v.History.Ops), len(v.History.Spans))
	r := history.Verify(v.History)
	if r.Outcome == history.OK {
		fmt.Fprintln(out, r.Outcome)
		return nil
	}
	if err := history.SavePicture(path, r.Part); err != nil {
		return fmt.Errorf("-verify-history: %w", err)
	}
	return fmt.Errorf("%s: %s: %s", path, r.Outcome, r.Why)
}

// verifySerial likewise verifies a history of transactions, which has no picture.
func verifySerial(out io.Writer, path string, h *serial.History) error {
	fmt.Fprintf(out, "%d transactions of %d workers on %d keys\n", len(h.Attempts), len(h.Spans), len(h.Keys))
	if f := serial.Check(h); f != nil {
		return fmt.Errorf("%s: not strictly serializable: %s", path, f.Why)
	}
	fmt.Fprintln(out, "strictly serializable")
	return nil
}
