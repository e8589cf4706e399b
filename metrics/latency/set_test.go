package latency

import (
	"testing"
	"time"

	"kvlab/metrics"
)

// A call's parts add up to the whole for each of its operations, and operations
// that were due at moments of their own are counted one by one.
func TestLatencyParts(t *testing.T) {
	const us = time.Microsecond
	latency, recorders := NewCollector(1, 1)
	due := []time.Duration{100 * us, 250 * us, 400 * us}
	recorders[0].ObserveEach(&Timing{Phase: metrics.Window, Call: 300 * us, Queue: 20 * us, Server: 80 * us, Late: 7 * us}, 900*us, due, []uint8{1, 5, 1})
	recorders[0].Observe(&Timing{Phase: metrics.Window, Call: 40 * us, Op: 50 * us, Ops: Kinds{1, 1}})              // nothing is known of its parts
	recorders[0].Observe(&Timing{Phase: metrics.Window, Call: 10 * us, Op: 10 * us, Ops: Kinds{1}, Server: 9 * us}) // no queue
	must(latency.Collect(0, 1))(t)
	w := latency.Window
	for _, tt := range []struct {
		name string
		d    *Distribution
		want []int64 // values in ascending order
	}{
		{"call", w.Call, []int64{10, 40, 300}},
		{"op", w.Op, []int64{10, 50, 50, 500, 650, 800}},
		{"get", w.Kinds[0], []int64{10, 50}},
		{"put", w.Kinds[1], []int64{50, 500, 800}},
		{"scan", w.Kinds[5], []int64{650}},
		{"wait", w.Wait, []int64{1, 10, 10, 200, 350, 500}},
		{"queue", w.Queue, []int64{1, 20}},
		{"server", w.Server, []int64{9, 80}},
		{"wire", w.Wire, []int64{1, 200}}, // 10 - 1 - 9 is nothing, which counts as the unit
		{"late", w.Late, []int64{7}},
	} {
		var got []int64
		for _, bar := range tt.d.Distribution() {
			for range bar.Count {
				got = append(got, bar.From)
			}
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
			continue
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
				break
			}
		}
	}
	quantiles := latency.Window.Quantiles()
	if quantiles[metrics.WaitLatency].Count != 3 || quantiles[metrics.WireLatency].Count != 2 || quantiles[metrics.Lateness].Count != 1 {
		t.Errorf("samples: wait %d of 3 calls, wire %d of 2 timed calls, late %d of 1", quantiles[metrics.WaitLatency].Count, quantiles[metrics.WireLatency].Count, quantiles[metrics.Lateness].Count)
	}
}

// Every part survives the way through a record, and nothing is made of parts
// that nobody timed.
func TestPartsAsRecords(t *testing.T) {
	latency, recorders := NewCollector(1, 1)
	recorders[0].Observe(&Timing{Phase: metrics.Window, Call: time.Millisecond, Op: 2 * time.Millisecond, Ops: Kinds{4}})
	if got := len(must(latency.Collect(0, 1))(t)); got != 4 {
		t.Errorf("%d histograms of a call that is not split, want call, op, get and wait", got)
	}
	recorders[0].Observe(&Timing{Phase: metrics.Window, Call: time.Millisecond, Op: 2 * time.Millisecond, Ops: Kinds{4, 1, 1, 1, 1, 1}, Queue: 1, Server: 1, Late: 1})
	histograms := must(latency.Collect(0, 1))(t)
	if len(histograms) != len(Names) {
		t.Fatalf("%d histograms, want %d", len(histograms), len(Names))
	}
	sum := NewSet()
	for _, h := range histograms {
		if err := sum.Add(metrics.Record{Histogram: &h}); err != nil {
			t.Fatal(err)
		}
	}
	for i, d := range sum.All() {
		if d.TotalCount() == 0 {
			t.Errorf("%s is lost", Names[i])
		}
	}
}
