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

// Log adds up the window's latencies of all clients as their records come,
// and writes them as an HdrHistogram interval log (format 1.3, which HdrHistogram's
// tools and its readers in other languages read), tagged CallLatency and
// OpLatency. Each line is one second with the histograms of all nodes added;
// intervals of different nodes do not begin at the same moment, and each belongs to
// the second in which its middle lies.
//
// A second is written when one has come that is 10 s later, so that a Log
// takes less than 7 MB however long the run is. Later intervals
// get extra lines, so nothing is lost. Not safe for concurrent use.
type Log struct {
	log     *hdrhistogram.HistogramLogWriter
	window  *Set
	seconds []logSecond // not written yet, in the order of time
	begun   bool        // the header is written
}

// logLag is how long a second stays open for late intervals. Nodes send an interval
// when it ends, and a launcher gives up a node that is silent for 8 s.
const logLag = 10 * time.Second

// logSecond is what has come of one second.
type logSecond struct {
	second     time.Time // its start
	begin, end time.Time // of the first interval and of the last
	call, op   *Distribution
}

// NewLog returns an empty log, which will write to w.
func NewLog(w io.Writer) *Log {
	return &Log{log: hdrhistogram.NewHistogramLogWriter(w), window: NewSet()}
}

// Add takes a record of any node; all but histograms of the window are passed
// over. An error names the node whose record is wrong, or is the writer's.
func (l *Log) Add(r metrics.Record) error {
	if r.Histogram == nil || r.Histogram.Phase != metrics.Window {
		return nil
	}
	d, err := decode(*r.Histogram)
	if err == nil {
		err = l.window.add(r.Histogram.Name, d)
	}
	if err != nil {
		return fmt.Errorf("node %s: %w", r.Node, err)
	}
	switch r.Histogram.Name {
	case metrics.CallLatency:
		l.secondOf(r).call.Add(d)
	case metrics.OpLatency:
		l.secondOf(r).op.Add(d)
	default:
		return nil
	}
	return l.writeBefore(l.seconds[len(l.seconds)-1].second.Add(-logLag))
}

// Window is the sum of what was added. It changes with the next Add.
func (l *Log) Window() *Set { return l.window }

// Close writes what is not written yet. It does not close the writer.
func (l *Log) Close() error {
	if len(l.seconds) > 0 {
		return l.writeBefore(l.seconds[len(l.seconds)-1].second.Add(1))
	}
	return l.writeBefore(time.Time{})
}

// secondOf is the second that a record belongs to, widened by its interval. It
// is valid until the next call.
func (l *Log) secondOf(r metrics.Record) *logSecond {
	length := time.Duration(r.Histogram.LengthS * float64(time.Second))
	begin, end := r.Time.Add(-length), r.Time
	second := begin.Add(length / 2).Truncate(time.Second)
	i, found := slices.BinarySearchFunc(l.seconds, second, func(s logSecond, t time.Time) int { return s.second.Compare(t) })
	if !found {
		l.seconds = slices.Insert(l.seconds, i, logSecond{second, begin, end, NewDistribution(), NewDistribution()})
	}
	s := &l.seconds[i]
	if begin.Before(s.begin) {
		s.begin = begin
	}
	if end.After(s.end) {
		s.end = end
	}
	return s
}

// writeBefore writes the seconds before a moment, and before the first of all the
// header.
func (l *Log) writeBefore(moment time.Time) error {
	n := 0
	for n < len(l.seconds) && l.seconds[n].second.Before(moment) {
		n++
	}
	if n == 0 && len(l.seconds) > 0 {
		return nil
	}
	if !l.begun {
		l.begun = true
		if err := l.writeHeader(); err != nil {
			return fmt.Errorf("write the latency log: %w", err)
		}
	}
	for _, s := range l.seconds[:n] {
		if err := l.writeSecond(s); err != nil {
			return fmt.Errorf("write the latency log: %w", err)
		}
	}
	l.seconds = slices.Delete(l.seconds, 0, n)
	return nil
}

// writeHeader also fixes the time that the lines count from: the beginning of
// the first, in the whole seconds that the format's header has.
func (l *Log) writeHeader() error {
	err := cmp.Or(l.log.OutputLogFormatVersion(),
		l.log.OutputComment("[Latencies in microseconds, Interval_Max in seconds; HistogramLogProcessor needs -outputValueUnitRatio 1000]"))
	if len(l.seconds) > 0 {
		first := slices.MinFunc(l.seconds, func(a, b logSecond) int { return a.begin.Compare(b.begin) })
		base := first.begin.Truncate(time.Second).UnixMilli()
		l.log.SetBaseTime(base)
		err = cmp.Or(err, l.log.OutputStartTime(base), l.log.OutputBaseTime(base))
	}
	return cmp.Or(err, l.log.OutputLegend())
}

// writeSecond writes a line for each of the two latencies.
func (l *Log) writeSecond(s logSecond) error {
	for _, tagged := range []struct {
		tag string
		h   *hdrhistogram.Histogram
	}{{metrics.CallLatency, s.call.Histogram}, {metrics.OpLatency, s.op.Histogram}} {
		tagged.h.SetTag(tagged.tag)
		tagged.h.SetStartTimeMs(s.begin.UnixMilli())
		tagged.h.SetEndTimeMs(s.end.UnixMilli())
		if err := l.log.OutputIntervalHistogram(tagged.h); err != nil {
			return err
		}
	}
	return nil
}
