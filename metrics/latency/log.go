package latency

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"kvlab/metrics"
)

// Log sums the window's latencies over all clients, and writes them as an HdrHistogram
// interval log (format 1.3, which HdrHistogram's tools and its readers in other
// languages read). The lines are tagged CallLatency and OpLatency. Each line has the sum
// of all nodes for one second. An interval belongs to the second that holds its middle.
//
// A second is written when an interval arrives that is 10 s later, so a Log takes less
// than 7 MB. An interval that arrives later gets its own line. A Log is not safe for
// concurrent use.
type Log struct {
	log     *hdrhistogram.HistogramLogWriter
	Window  *Set        // the sum of what was added; it changes with the next Add
	seconds []logSecond // not written yet, in the order of time
	begun   bool        // the header is written
}

// logLag is how long a second stays open for late intervals. Nodes send an interval
// when it ends, and a launcher gives up a node that is silent for 8 s.
const logLag = 10 * time.Second

// logTags are the names of the distributions in a log.
var logTags = [...]string{metrics.CallLatency, metrics.OpLatency}

// logSecond is the sum of the intervals of one second.
type logSecond struct {
	second         time.Time // its start
	beginMs, endMs int64     // when the first interval begins and the last ends, since the Unix epoch
	of             [len(logTags)]*Distribution
}

// NewLog returns an empty log, which will write to w.
func NewLog(w io.Writer) *Log {
	return &Log{log: hdrhistogram.NewHistogramLogWriter(w), Window: NewSet()}
}

// Add takes a record of any node. It ignores all but histograms of the window. Its error
// names the node of a wrong record, or is the writer's.
func (l *Log) Add(r metrics.Record) error {
	if r.Histogram == nil || r.Histogram.Phase != metrics.Window {
		return nil
	}
	d, err := Decode(*r.Histogram)
	if err == nil {
		err = l.Window.add(r, d)
	}
	if err != nil {
		return fmt.Errorf("node %s: %w", r.Node, err)
	}
	i := slices.Index(logTags[:], r.Histogram.Name)
	if i < 0 {
		return nil
	}
	l.secondOf(r).of[i].Add(d)
	return l.writeBefore(l.seconds[len(l.seconds)-1].second.Add(-logLag))
}

// Close writes the seconds that are not written yet: all before the year 36812. It does not
// close the writer.
func (l *Log) Close() error { return l.writeBefore(time.Unix(1<<40, 0)) }

// secondOf returns the second that a record belongs to, widened by its interval. It
// is valid until the next call.
func (l *Log) secondOf(r metrics.Record) *logSecond {
	length := time.Duration(r.Histogram.LengthS * float64(time.Second))
	begin := r.Time.Add(-length)
	second := begin.Add(length / 2).Truncate(time.Second)
	i, found := slices.BinarySearchFunc(l.seconds, second, func(s logSecond, t time.Time) int { return s.second.Compare(t) })
	if !found {
		l.seconds = slices.Insert(l.seconds, i, logSecond{second, begin.UnixMilli(), 0, [...]*Distribution{NewDistribution(), NewDistribution()}})
	}
	s := &l.seconds[i]
	s.beginMs, s.endMs = min(s.beginMs, begin.UnixMilli()), max(s.endMs, r.Time.UnixMilli())
	return s
}

// writeBefore writes the seconds before a moment. It writes the header before the first
// second of all.
func (l *Log) writeBefore(moment time.Time) error {
	n := 0
	for n < len(l.seconds) && l.seconds[n].second.Before(moment) {
		n++
	}
	if n == 0 && len(l.seconds) > 0 {
		return nil
	}
	var err error
	if !l.begun {
		l.begun = true
		err = l.writeHeader()
	}
	for _, s := range l.seconds[:n] {
		err = cmp.Or(err, l.writeSecond(s))
	}
	l.seconds = slices.Delete(l.seconds, 0, n)
	if err != nil {
		return fmt.Errorf("write the latency log: %w", err)
	}
	return nil
}

// writeHeader also fixes the time that the lines count from: the beginning of
// the first, in the whole seconds that the format's header has.
func (l *Log) writeHeader() error {
	err := cmp.Or(l.log.OutputLogFormatVersion(),
		l.log.OutputComment("[Latencies in microseconds, Interval_Max in seconds; HistogramLogProcessor needs -outputValueUnitRatio 1000]"))
	if len(l.seconds) > 0 {
		first := slices.MinFunc(l.seconds, func(a, b logSecond) int { return cmp.Compare(a.beginMs, b.beginMs) })
		base := first.beginMs / 1000 * 1000
		l.log.SetBaseTime(base)
		err = cmp.Or(err, l.log.OutputStartTime(base), l.log.OutputBaseTime(base))
	}
	return cmp.Or(err, l.log.OutputLegend())
}

// writeSecond writes a line for each of the two latencies.
func (l *Log) writeSecond(s logSecond) error {
	for i, d := range s.of {
		d.SetTag(logTags[i])
		d.SetStartTimeMs(s.beginMs)
		d.SetEndTimeMs(s.endMs)
		if err := l.log.OutputIntervalHistogram(d.Histogram); err != nil {
			return err
		}
	}
	return nil
}

// CheckLog reads a log and returns an error unless its lines add up to the set.
func (l *Set) CheckLog(in io.Reader) error {
	sums := make(map[string]*Distribution)
	for _, tag := range logTags {
		sums[tag] = NewDistribution()
	}
	for lines := hdrhistogram.NewHistogramLogReader(in); ; {
		h, err := lines.NextIntervalHistogram()
		if err != nil {
			return fmt.Errorf("read the latency log: %w", err)
		}
		if h == nil {
			break
		}
		sum, ok := sums[h.Tag()]
		if !ok {
			return fmt.Errorf("read the latency log: a line is tagged %q, want one of %q", h.Tag(), logTags)
		}
		sum.Merge(h)
	}
	for tag, mine := range map[string]*Distribution{metrics.CallLatency: l.Call, metrics.OpLatency: l.Op} {
		if sum := sums[tag]; !sum.Equals(mine.Histogram) {
			return fmt.Errorf("its lines tagged %s hold %d values, which are not the %d of the nodes' histograms", tag, sum.TotalCount(), mine.TotalCount())
		}
	}
	return nil
}
