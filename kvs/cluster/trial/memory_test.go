package trial

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/latency"
)

// Five minutes of records (a day with KVLAB_LONG=1) goes through the launcher's path,
// as lines of two clients and a server: its memory stays what it was after the
// first hundred seconds, and what was recorded is there to the last call.
func TestLauncherMemoryIsBounded(t *testing.T) {
	seconds := 300
	if os.Getenv("KVLAB_LONG") == "1" {
		seconds = 86400
	}
	dir := Folder(t.TempDir())
	c := New(Setup{Plan: plan.Plan{Places: []plan.Place{
		{Name: "s", Role: metrics.Server}, {Name: "a", Role: metrics.Client}, {Name: "b", Role: metrics.Client},
	}}, Timeouts: DefaultTimeouts(), Dir: dir})
	c.Soak = time.Duration(seconds) * time.Second
	for _, place := range c.Plan.Places {
		log, err := openNodeLog(dir, place, false)
		if err != nil {
			t.Fatal(err)
		}
		defer log.text.Close()
		defer log.records.Close()
		c.processes = append(c.processes, &process{Place: place, log: log})
	}
	file, err := os.Create(dir.Path("latency.hlog"))
	if err != nil {
		t.Fatal(err)
	}
	c.latency = latency.NewLog(file)
	start := time.Date(2026, 11, 21, 15, 30, 0, 0, time.UTC)
	histograms := aSecond(t)
	const begun = 100
	var before uint64
	for second := range seconds {
		if second == begun {
			before = heapBytes()
		}
		for _, m := range c.processes {
			for _, r := range recordsOf(m, second, histograms) {
				r.Node, r.Role, r.Time = m.Name, m.Role, start.Add(time.Duration(second)*time.Second)
				say(t, c, m, &r)
			}
		}
	}
	after := heapBytes()
	t.Logf("%d bytes after %d s, %d after %d", before, begun, after, seconds)
	if after > before+1<<19 {
		t.Errorf("%d kB more after %d s than after %d", (after-before)>>10, seconds, begun)
	}
	if calls := c.latency.Window.Quantiles()[metrics.CallLatency].Count; calls != uint64(2*seconds*len(histograms)) {
		t.Errorf("%d calls in all, want %d", calls, 2*seconds*len(histograms))
	}
	if err := errors.Join(c.latency.Close(), file.Close()); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(string(dir), "latency.hlog")); err != nil || info.Size() < int64(100*seconds) {
		t.Errorf("latency.hlog: %v, %v", info, err)
	}
}

// aSecond returns a client's histograms of one second: as many calls as there are
// distributions.
func aSecond(t *testing.T) []metrics.Histogram {
	t.Helper()
	collector, recorders := latency.NewCollector(1, 1)
	timing := latency.Timing{Phase: metrics.Window, Call: time.Millisecond, Op: 2 * time.Millisecond, Queue: time.Microsecond,
		Server: time.Microsecond, Late: time.Microsecond, Ops: latency.Kinds{8192, 1, 1, 1, 1, 1}}
	for range latency.Names {
		recorders[0].Observe(&timing)
		timing.Call *= 2
	}
	histograms, err := collector.Collect(0, 1)
	if err != nil || len(histograms) != len(latency.Names) {
		t.Fatalf("%d histograms, %v", len(histograms), err)
	}
	return histograms
}

// recordsOf returns the records of a process after a second.
func recordsOf(m *process, second int, histograms []metrics.Histogram) []metrics.Record {
	at := float64(second)
	records := []metrics.Record{
		{Interval: &metrics.Interval{Phase: metrics.Window, StartS: at, LengthS: 1, Counts: metrics.Counts{Gets: 1e6}}},
		{Usage: &metrics.Usage{Phase: metrics.Window, StartS: at, LengthS: 1, CorePercent: make([]float64, 16)}},
	}
	if m.Role == metrics.Client {
		for _, h := range histograms {
			records = append(records, metrics.Record{Histogram: &h})
		}
	}
	return records
}

// say sends a record of a process, which the controller handles.
func say(t *testing.T, c *Controller, m *process, r *metrics.Record) {
	t.Helper()
	line, err := json.Marshal(node.Event{Event: node.Report, Record: r})
	if err == nil {
		err = m.read(line, c.inbox)
	}
	if err != nil {
		t.Fatal(err)
	}
	if f := c.handle(<-c.inbox); f != nil {
		t.Fatal(f)
	}
}

func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
