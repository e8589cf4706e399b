package latency

import (
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"kvlab/metrics"
)

// single is what recorders must amount to: one histogram into which every value
// goes at once.
type single struct{ call, op *hdrhistogram.Histogram }

func newSingle() single {
	return single{hdrhistogram.New(1, 3_600_000_000, 3), hdrhistogram.New(1, 3_600_000_000, 3)}
}

func (s single) observe(t *testing.T, callMicros, opMicros, ops int64) {
	t.Helper()
	if err := s.call.RecordValue(callMicros); err != nil {
		t.Fatal(err)
	}
	if err := s.op.RecordValues(opMicros, ops); err != nil {
		t.Fatal(err)
	}
}

func (s single) compare(t *testing.T, name string, got *Set) {
	t.Helper()
	if !got.Call.Equals(s.call) {
		t.Errorf("%s: call histogram with %d values differs from the single one with %d", name, got.Call.TotalCount(), s.call.TotalCount())
	}
	if !got.Op.Equals(s.op) {
		t.Errorf("%s: op histogram with %d values differs from the single one with %d", name, got.Op.TotalCount(), s.op.TotalCount())
	}
}

// TestRecordersAmountToOneHistogram drives several workers over several
// intervals and phases, through records and back, on several nodes.
func TestRecordersAmountToOneHistogram(t *testing.T) {
	const nodes, workers, intervals, calls = 2, 3, 5, 400
	const seed = 42
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	whole, window := newSingle(), newSingle()
	var records []metrics.Record
	for range nodes {
		nodeWindow := newSingle()
		latency, recorders := NewCollector(workers, 1)
		for range intervals {
			for range calls {
				phase := phaseOrder[2+random.IntN(3)] // an interval with warm-up, window and drain in it
				callMicros := 1 + int64(random.ExpFloat64()*1000)
				opMicros := callMicros + random.Int64N(1_000_000)
				ops := random.Int64N(8192)
				early := time.Duration(random.IntN(1000)) * time.Nanosecond // rounded up away
				recorders[random.IntN(workers)].Observe(&Timing{Phase: phase, Ops: Kinds{uint64(ops)},
					Call: time.Duration(callMicros)*time.Microsecond - early,
					Op:   time.Duration(opMicros)*time.Microsecond - early})
				whole.observe(t, callMicros, opMicros, ops)
				if phase == metrics.Window {
					window.observe(t, callMicros, opMicros, ops)
					nodeWindow.observe(t, callMicros, opMicros, ops)
				}
			}
			for _, h := range must(latency.Collect(1, 2))(t) {
				if h.StartS != 1 || h.LengthS != 2 {
					t.Errorf("histogram of %v s from %v, want 2 s from 1", h.LengthS, h.StartS)
				}
				records = append(records, metrics.Record{Node: "n", Role: metrics.Client, Histogram: &h})
			}
		}
		nodeWindow.compare(t, "total of a node", latency.Window)
	}

	all := NewSet()
	for _, r := range records {
		if err := all.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	whole.compare(t, "all records", all)
	merged := logged(t, records).Window
	window.compare(t, "window over nodes", merged)
	if got, want := merged.Quantiles()[metrics.OpLatency].Count, uint64(window.call.TotalCount()); got != want {
		t.Errorf("samples behind the op quantiles = %d, want the %d calls", got, want)
	}
}

func TestCollectLabelsHistogramsByPhase(t *testing.T) {
	latency, recorders := NewCollector(1, 1)
	if got := must(latency.Collect(0, 1))(t); len(got) != 0 {
		t.Errorf("%d histograms of nothing", len(got))
	}
	recorders[0].Observe(&Timing{Phase: metrics.Drain, Call: time.Millisecond, Op: time.Millisecond, Ops: Kinds{1}})
	recorders[0].Observe(&Timing{Phase: metrics.Window, Call: time.Millisecond, Op: time.Millisecond, Ops: Kinds{0, 7}})
	got := must(latency.Collect(3, 1))(t)
	want := []struct {
		name  string
		phase metrics.Phase
		count int64
	}{
		{metrics.CallLatency, metrics.Window, 1}, {metrics.OpLatency, metrics.Window, 7}, {"put", metrics.Window, 7}, {metrics.WaitLatency, metrics.Window, 7},
		{metrics.CallLatency, metrics.Drain, 1}, {metrics.OpLatency, metrics.Drain, 1}, {"get", metrics.Drain, 1}, {metrics.WaitLatency, metrics.Drain, 1},
	}
	if len(got) != len(want) {
		t.Fatalf("%d histograms, want %d", len(got), len(want))
	}
	for i, w := range want {
		d := must(Decode(got[i]))(t)
		if got[i].Name != w.name || got[i].Phase != w.phase || d.TotalCount() != w.count {
			t.Errorf("histogram %d is %s in %s with %d values, want %+v", i, got[i].Name, got[i].Phase, d.TotalCount(), w)
		}
	}
	if calls := latency.Window.Quantiles()[metrics.CallLatency].Count; calls != 1 {
		t.Errorf("%d calls in the window, want 1", calls)
	}
}

func TestOutOfRangeIsCounted(t *testing.T) {
	latency, recorders := NewCollector(1, 1)
	for _, d := range []time.Duration{-1, 0, MaxLatency + 1, 1 << 62} {
		recorders[0].Observe(&Timing{Phase: metrics.Window, Call: d, Op: d, Ops: Kinds{10}})
	}
	recorders[0].Observe(&Timing{Phase: metrics.Window, Call: 1, Op: MaxLatency, Ops: Kinds{10}}) // the ends of the range
	var records []metrics.Record
	for _, h := range must(latency.Collect(0, 1))(t) {
		records = append(records, metrics.Record{Node: "n", Role: metrics.Client, Histogram: &h})
	}
	for name, q := range map[string]map[string]metrics.Quantiles{
		"node": latency.Window.Quantiles(), "merged": logged(t, records).Window.Quantiles(),
	} {
		if q[metrics.CallLatency].OutOfRange != 4 || q[metrics.CallLatency].Count != 1 || q[metrics.CallLatency].Max != 1 {
			t.Errorf("%s: call %+v, want 4 out of range and one of 1 us", name, q[metrics.CallLatency])
		}
		if q[metrics.OpLatency].OutOfRange != 40 || q[metrics.OpLatency].Max < 3.6e9 || q[metrics.OpLatency].Max > 3.6e9*1.001 {
			t.Errorf("%s: op %+v, want 40 out of range and one of 1 h", name, q[metrics.OpLatency])
		}
	}
}

// TestObserveBesideCollect is for the race detector, and loses no call.
func TestObserveBesideCollect(t *testing.T) {
	const workers, calls = 4, 20_000
	latency, recorders := NewCollector(workers, 1)
	var wg sync.WaitGroup
	for _, r := range recorders {
		wg.Go(func() {
			for range calls {
				r.Observe(&Timing{Phase: metrics.Window, Call: time.Microsecond, Op: time.Microsecond, Ops: Kinds{2}})
			}
		})
	}
	for range 50 {
		must(latency.Collect(0, 1))(t)
	}
	wg.Wait()
	must(latency.Collect(0, 1))(t)
	if got := latency.Window.Op.TotalCount(); got != 2*workers*calls {
		t.Errorf("%d operations collected, want %d", got, 2*workers*calls)
	}
}

func TestObserveDoesNotAllocate(t *testing.T) {
	const calls = 1000
	r, spare := new(Recorder), observations{}
	due := []time.Duration{1, 2, 3}
	second := func() {
		for range calls {
			r.Observe(&Timing{Phase: metrics.Window, Call: time.Millisecond, Op: time.Millisecond, Ops: Kinds{100}})
			r.ObserveEach(&Timing{Phase: metrics.Window, Call: time.Millisecond}, time.Second, due, []uint8{0, 1, 0})
		}
		spare = r.take(spare)
	}
	second()
	second() // now both buffers have grown
	if n := testing.AllocsPerRun(10, second); n != 0 {
		t.Errorf("%v allocations for %d calls, want 0", n, 2*calls)
	}
}

// logged returns a log of records that is not written anywhere.
func logged(t *testing.T, records []metrics.Record) *Log {
	t.Helper()
	log := NewLog(io.Discard)
	for _, r := range records {
		if err := log.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

func TestDecodeRefusesOtherHistograms(t *testing.T) {
	other := must(hdrhistogram.New(1, 1000, 2).EncodeV2())(t)
	for name, hdr := range map[string]string{"garbage": "HISTgarbage", "empty": "", "other range": string(other)} {
		h := metrics.Histogram{Name: metrics.CallLatency, Phase: metrics.Window, HDR: hdr}
		if _, err := Decode(h); err == nil {
			t.Errorf("%s: no error", name)
		}
		if err := NewLog(io.Discard).Add(metrics.Record{Node: "n7", Histogram: &h}); err == nil {
			t.Errorf("%s: the log gives no error", name)
		}
	}
	good := metrics.Histogram{Name: "cal", HDR: string(must(NewDistribution().EncodeV2())(t))}
	if err := NewSet().Add(metrics.Record{Histogram: &good}); err == nil {
		t.Error("a histogram named \"cal\": no error")
	}
}

func BenchmarkObserve(b *testing.B) {
	r, spare := new(Recorder), observations{}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.Observe(&Timing{Phase: metrics.Window, Call: time.Millisecond, Op: time.Millisecond, Ops: Kinds{8192}})
		if i%100_000 == 0 {
			spare = r.take(spare)
		}
	}
}

func BenchmarkCollect(b *testing.B) {
	const workers, calls = 64, 100
	latency, recorders := NewCollector(workers, 1)
	b.ReportAllocs()
	for b.Loop() {
		for i, r := range recorders {
			for c := range calls {
				r.Observe(&Timing{Phase: metrics.Window, Call: time.Duration(i*c+1) * time.Microsecond, Op: time.Duration(i*c+1) * time.Microsecond, Ops: Kinds{100}})
			}
		}
		if _, err := latency.Collect(0, 1); err != nil {
			b.Fatal(err)
		}
	}
}

// must returns v and ends the test on an error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
