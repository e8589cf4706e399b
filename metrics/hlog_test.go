package metrics

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// latencyRecords are two clients' histograms over three seconds, client b 0.2 s
// behind client a, with one call of 100 us more in each second.
func latencyRecords(t *testing.T, start time.Time) []Record {
	var records []Record
	for node, late := range map[string]time.Duration{"a": 0, "b": 200 * time.Millisecond} {
		latency, recorders := NewLatency(1)
		recorders[0].Observe(Timing{Phase: WarmUp, Call: time.Second, Op: time.Second, Ops: 5})
		for second := range 3 {
			for range second + 1 {
				recorders[0].Observe(Timing{Phase: Window, Call: 100 * time.Microsecond, Op: 200 * time.Microsecond, Ops: 10})
			}
			end := start.Add(time.Duration(second+1)*time.Second + late)
			for _, h := range must(latency.Collect(float64(second), 1))(t) {
				records = append(records, Record{Node: node, Role: Client, Time: end, Histogram: &h})
			}
		}
	}
	return append(records, Record{Node: "a", Role: Client, Time: start, Interval: &Interval{}})
}

func TestLatencyLogRoundTrip(t *testing.T) {
	start := time.Date(2026, 11, 21, 15, 30, 0, 100e6, time.UTC)
	var log bytes.Buffer
	if err := WriteLatencyLog(&log, latencyRecords(t, start)); err != nil {
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
		}{{CallLatency, 2 * (second + 1), 100}, {OpLatency, 20 * (second + 1), 200}} {
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
	if err := WriteLatencyLog(&log, nil); err != nil {
		t.Fatal(err)
	}
	if h := must(hdrhistogram.NewHistogramLogReader(&log).NextIntervalHistogram())(t); h != nil {
		t.Errorf("a histogram in the log of nothing")
	}
}

func TestLatencyLogFaults(t *testing.T) {
	bad := []Record{{Node: "n7", Role: Client, Histogram: &Histogram{Name: CallLatency, Phase: Window, HDR: "x"}}}
	if err := WriteLatencyLog(new(bytes.Buffer), bad); err == nil || !strings.Contains(err.Error(), "n7") {
		t.Errorf("error %v, want one that names n7", err)
	}
	full := errors.New("disk full")
	records := latencyRecords(t, time.Now())
	for room := range 8 {
		if err := WriteLatencyLog(&smallDisk{room, full}, records); !errors.Is(err, full) {
			t.Errorf("error %v after %d lines, want %v", err, room, full)
		}
	}
}

// smallDisk takes so many writes and then fails.
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
