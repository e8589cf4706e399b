package latency

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"kvlab/metrics"
)

// latencyRecords returns two clients' histograms over three seconds, client b 0.2 s
// behind client a, with one call of 100 us more in each second.
func latencyRecords(t *testing.T, start time.Time) []metrics.Record {
	var records []metrics.Record
	for node, late := range map[string]time.Duration{"a": 0, "b": 200 * time.Millisecond} {
		latency, recorders := NewCollector(1, 1)
		recorders[0].Observe(&Timing{Phase: metrics.WarmUp, Call: time.Second, Op: time.Second, Ops: Kinds{5}})
		for second := range 3 {
			for range second + 1 {
				recorders[0].Observe(&Timing{Phase: metrics.Window, Call: 100 * time.Microsecond, Op: 200 * time.Microsecond, Ops: Kinds{10}})
			}
			end := start.Add(time.Duration(second+1)*time.Second + late)
			for _, h := range must(latency.Collect(float64(second), 1))(t) {
				records = append(records, metrics.Record{Node: node, Role: metrics.Client, Time: end, Histogram: &h})
			}
		}
	}
	return append(records, metrics.Record{Node: "a", Role: metrics.Client, Time: start, Interval: &metrics.Interval{}})
}

// writeLog writes a log of records.
func writeLog(w io.Writer, records []metrics.Record) error {
	log := NewLog(w)
	for _, r := range records {
		if err := log.Add(r); err != nil {
			return err
		}
	}
	return log.Close()
}

func TestLatencyLogRoundTrip(t *testing.T) {
	start := time.Date(2026, 11, 21, 15, 30, 0, 100e6, time.UTC)
	var log bytes.Buffer
	if err := writeLog(&log, latencyRecords(t, start)); err != nil {
		t.Fatal(err)
	}
	for _, header := range []string{"#[Histogram log format version 1.3]\n", "#[StartTime: 1795275000 (seconds since epoch), 2026-11-21T15:30:00Z]\n", "#[BaseTime: 1795275000 "} {
		if !strings.Contains(log.String(), header) {
			t.Errorf("no header %q in\n%.400s", header, &log)
		}
	}

	reader := hdrhistogram.NewHistogramLogReader(&log)
	for second := range int64(3) {
		for _, want := range []struct {
			tag           string
			count, micros int64
		}{{metrics.CallLatency, 2 * (second + 1), 100}, {metrics.OpLatency, 20 * (second + 1), 200}} {
			h := must(reader.NextIntervalHistogram())(t)
			if h == nil {
				t.Fatalf("the log ends before second %d, %s", second, want.tag)
			}
			if h.Tag() != want.tag || h.TotalCount() != want.count || h.Max() != want.micros {
				t.Errorf("second %d: %s with %d values up to %d us, want %+v", second, h.Tag(), h.TotalCount(), h.Max(), want)
			}
			begin := start.Add(time.Duration(second) * time.Second)
			if got := time.UnixMilli(h.StartTimeMs()); got.Sub(begin).Abs() > time.Millisecond {
				t.Errorf("second %d begins at %v, want %v", second, got.UTC(), begin)
			}
			if got, end := time.UnixMilli(h.EndTimeMs()), begin.Add(1200*time.Millisecond); got.Sub(end).Abs() > time.Millisecond {
				t.Errorf("second %d ends at %v, want %v", second, got.UTC(), end)
			}
		}
	}
	if h := must(reader.NextIntervalHistogram())(t); h != nil {
		t.Errorf("one more histogram, %s with %d values", h.Tag(), h.TotalCount())
	}
}

func TestLatencyLogWithoutAWindow(t *testing.T) {
	var log bytes.Buffer
	if err := writeLog(&log, nil); err != nil {
		t.Fatal(err)
	}
	if h := must(hdrhistogram.NewHistogramLogReader(&log).NextIntervalHistogram())(t); h != nil {
		t.Errorf("a histogram in the log of nothing")
	}
}

func TestLatencyLogFaults(t *testing.T) {
	bad := []metrics.Record{{Node: "n7", Role: metrics.Client, Histogram: &metrics.Histogram{Name: metrics.CallLatency, Phase: metrics.Window, HDR: "x"}}}
	if err := writeLog(io.Discard, bad); err == nil || !strings.Contains(err.Error(), "n7") {
		t.Errorf("error %v, want one that names n7", err)
	}
	full := errors.New("disk full")
	records := latencyRecords(t, time.Now())
	for room := range 8 {
		if err := writeLog(&smallDisk{room, full}, records); !errors.Is(err, full) {
			t.Errorf("error %v after %d lines, want %v", err, room, full)
		}
	}
}

// A day of two nodes, one of which is some seconds behind and once a minute too
// late for its lines: as much is in the log as was added, in little memory.
func TestLatencyLogOfADay(t *testing.T) {
	seconds := 600
	if os.Getenv("KVLAB_LONG") == "1" {
		seconds = 86400
	}
	one := NewSet()
	one.observe(&observation{call: 100}, nil, nil)
	one.operations(0, 200, 100, 10)
	one.Op.Add(one.Kinds[0])
	second := must(one.histograms(metrics.Window, 0, 1))(t)
	start := time.Date(2026, 11, 21, 15, 30, 0, 0, time.UTC)
	var file countingReader
	log := NewLog(&file)
	for i := range seconds {
		for node, late := range map[string]int{"a": 0, "b": 3 + i%60/59*60} {
			for _, h := range second {
				if err := log.Add(metrics.Record{Node: node, Role: metrics.Client, Time: start.Add(time.Duration(i-late) * time.Second), Histogram: &h}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if len(log.seconds) > 12 {
			t.Fatalf("%d seconds wait after %d", len(log.seconds), i)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if got := log.Window.Op.TotalCount(); got != int64(20*seconds) {
		t.Errorf("%d operations in all, want %d", got, 20*seconds)
	}
	if file.ops != int64(20*seconds) || file.calls != int64(2*seconds) {
		t.Errorf("%d calls and %d operations in the file, want %d and %d", file.calls, file.ops, 2*seconds, 20*seconds)
	}
}

// countingReader reads each line of a log as it is written, and adds its values up.
type countingReader struct{ calls, ops int64 }

func (c *countingReader) Write(line []byte) (int, error) {
	if bytes.HasPrefix(line, []byte("Tag=")) {
		h, err := hdrhistogram.NewHistogramLogReader(bytes.NewReader(line)).NextIntervalHistogram()
		if err != nil {
			return 0, err
		}
		if h.Tag() == metrics.CallLatency {
			c.calls += h.TotalCount()
		} else {
			c.ops += h.TotalCount()
		}
	}
	return len(line), nil
}

// smallDisk takes a few writes and then fails.
type smallDisk struct {
	room int
	err  error
}

func (d *smallDisk) Write(p []byte) (int, error) {
	if d.room == 0 {
		return 0, d.err
	}
	d.room--
	return len(p), nil
}
