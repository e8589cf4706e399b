package metrics

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// WriteLatencyLog writes the window's latencies as an HdrHistogram interval log
// (format 1.3, which HdrHistogram's tools and its readers in other languages
// read), tagged CallLatency and OpLatency. Each line is one second with the
// histograms of all nodes added; intervals of different nodes do not begin at
// the same moment, and each belongs to the second in which its middle lies.
// records are all nodes' records, in any order; all but histograms of the window
// are passed over.
func WriteLatencyLog(w io.Writer, records []Record) error {
	log := hdrhistogram.NewHistogramLogWriter(w)
	parts := windowParts(records)
	if err := writeLogHeader(log, parts); err != nil {
		return fmt.Errorf("write the latency log: %w", err)
	}
	for len(parts) > 0 {
		n := 1
		for n < len(parts) && parts[n].second().Equal(parts[0].second()) {
			n++
		}
		if err := writeLogSecond(log, parts[:n]); err != nil {
			return fmt.Errorf("write the latency log: %w", err)
		}
		parts = parts[n:]
	}
	return nil
}

// logPart is one node's share of one second of the log.
type logPart struct {
	node       string
	begin, end time.Time
	histogram  Histogram
}

// second is that in which the part's middle lies.
func (p logPart) second() time.Time {
	return p.begin.Add(p.end.Sub(p.begin) / 2).Truncate(time.Second)
}

// windowParts returns the window's histograms in the order of their seconds.
func windowParts(records []Record) []logPart {
	var parts []logPart
	for _, r := range records {
		if r.Histogram != nil && r.Histogram.Phase == Window {
			length := time.Duration(r.Histogram.LengthS * float64(time.Second))
			parts = append(parts, logPart{r.Node, r.Time.Add(-length), r.Time, *r.Histogram})
		}
	}
	slices.SortStableFunc(parts, func(a, b logPart) int { return a.second().Compare(b.second()) })
	return parts
}

// writeLogHeader also fixes the time that the lines count from: the beginning of
// the first, in the whole seconds that the format's header has.
func writeLogHeader(log *hdrhistogram.HistogramLogWriter, parts []logPart) error {
	if err := log.OutputLogFormatVersion(); err != nil {
		return err
	}
	if err := log.OutputComment("[Latencies in microseconds, Interval_Max in seconds; HistogramLogProcessor needs -outputValueUnitRatio 1000]"); err != nil {
		return err
	}
	if len(parts) > 0 {
		first := slices.MinFunc(parts, func(a, b logPart) int { return a.begin.Compare(b.begin) })
		base := first.begin.Truncate(time.Second).UnixMilli()
		log.SetBaseTime(base)
		if err := log.OutputStartTime(base); err != nil {
			return err
		}
		if err := log.OutputBaseTime(base); err != nil {
			return err
		}
	}
	return log.OutputLegend()
}

// writeLogSecond writes a line for each of the two latencies, from the beginning
// of the first part to the end of the last.
func writeLogSecond(log *hdrhistogram.HistogramLogWriter, parts []logPart) error {
	sum, begin, end := NewLatencies(), parts[0].begin, parts[0].end
	for _, p := range parts {
		if err := sum.Add(p.histogram); err != nil {
			return fmt.Errorf("node %s: %w", p.node, err)
		}
		if p.begin.Before(begin) {
			begin = p.begin
		}
		if p.end.After(end) {
			end = p.end
		}
	}
	for _, tagged := range []struct {
		tag string
		h   *hdrhistogram.Histogram
	}{{CallLatency, sum.Call.Histogram}, {OpLatency, sum.Op.Histogram}} {
		tagged.h.SetTag(tagged.tag)
		tagged.h.SetStartTimeMs(begin.UnixMilli())
		tagged.h.SetEndTimeMs(end.UnixMilli())
		if err := log.OutputIntervalHistogram(tagged.h); err != nil {
			return err
		}
	}
	return nil
}
