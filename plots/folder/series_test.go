package folder

import (
	"math"
	"testing"
	"time"

	"gonum.org/v1/plot/plotter"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/metrics/latency"
)

// start is the window's start of the hand-made runs.
var start = time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)

// after returns a moment some seconds after start.
func after(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }

// interval returns ops operations in the lengthS seconds up to end.
func interval(end, lengthS float64, ops uint64, phase metrics.Phase) Sample {
	return ofInterval(after(end), metrics.Interval{Phase: phase, LengthS: lengthS, Counts: metrics.Counts{Gets: ops}})
}

// twoClients returns a run of two seconds whose clients report at different
// moments.
func twoClients() *Run {
	return &Run{
		Run:       metrics.Run{WindowStart: start, Result: metrics.Result{WindowS: 2}},
		Latencies: latency.NewSet(),
		Logs: []Log{
			{Node: "s", Role: metrics.Server, Intervals: []Sample{interval(1, 1, 999, metrics.Window)}},
			{Node: "a", Role: metrics.Client, Intervals: []Sample{
				interval(0, 1, 50, metrics.WarmUp), interval(1, 1, 100, metrics.Window), interval(2, 1, 200, metrics.Window),
			}},
			{Node: "b", Role: metrics.Client, Intervals: []Sample{
				interval(0.25, 0.5, 40, metrics.WarmUp), interval(1.25, 1, 400, metrics.Window), interval(2.25, 1, 80, metrics.Drain),
			}},
		},
	}
}

// wantPoints compares points to nine digits.
func wantPoints(t *testing.T, name string, got, want plotter.XYs) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s = %v, want %v", name, got, want)
	}
	for i := range want {
		if math.Abs(got[i].X-want[i].X) > 1e-9 || math.Abs(got[i].Y-want[i].Y) > 1e-9*max(1, want[i].Y) {
			t.Errorf("%s[%d] = %v, want %v", name, i, got[i], want[i])
		}
	}
}

func TestThroughputStandsInTheMiddleOfItsInterval(t *testing.T) {
	all := twoClients().Series(OpsPerS)
	if len(all) != 2 || all[0].Node != "a" || all[1].Node != "b" {
		t.Fatalf("the throughput is %v, want clients a and b", all)
	}
	wantPoints(t, "a", all[0].Points, plotter.XYs{{X: -0.5, Y: 50}, {X: 0.5, Y: 100}, {X: 1.5, Y: 200}})
	wantPoints(t, "b", all[1].Points, plotter.XYs{{X: 0, Y: 80}, {X: 0.75, Y: 400}, {X: 1.75, Y: 80}})
}

func TestTotalThroughputSpreadsIntervals(t *testing.T) {
	// Of b: 20 of the first 40 fall before 0, 300 of 400 before 1, 60 of 80
	// before 2.
	wantPoints(t, "total", twoClients().TotalThroughput(), plotter.XYs{
		{X: -0.5, Y: 50 + 20}, {X: 0.5, Y: 100 + 20 + 300}, {X: 1.5, Y: 200 + 100 + 60},
	}) // a quarter of the last second is no point
	short := twoClients()
	short.Logs[1].Intervals = append(short.Logs[1].Intervals, interval(2.3, 0.3, 90, metrics.Window))
	wantPoints(t, "a", short.Series(OpsPerS)[0].Points, twoClients().Series(OpsPerS)[0].Points)
}

func TestTotalThroughputKeepsEveryOperation(t *testing.T) {
	r := load(t, foldertest.MakeRun(t, foldertest.Plan{Servers: 2, Clients: 3, WindowS: 6, ClientOpsPerS: 1e6, Verdict: foldertest.Valid, Seed: 7}))
	want := uint64(0)
	for _, client := range r.Summaries(metrics.Client) {
		want += client.Total.Ops()
	}
	got := 0.0
	for _, point := range r.TotalThroughput() {
		got += point.Y
	}
	if math.Abs(got-float64(want)) > 1e-6*float64(want) {
		t.Errorf("the points add up to %.0f operations, want %d", got, want)
	}
}

func TestUsages(t *testing.T) {
	usage := metrics.Usage{
		LengthS: 2, CPUPercent: 75, MemoryUsedBytes: 3 << 30, DataInterface: "eth1",
		Interfaces: []metrics.InterfaceUsage{
			{Name: "eth0", RxBytesPerS: 1, TxBytesPerS: 1},
			{Name: "eth1", RxBytesPerS: 1.25e9, TxBytesPerS: 2.5e8},
		},
	}
	noInterface := usage
	noInterface.DataInterface = "eth2"
	r := &Run{
		Run:  metrics.Run{WindowStart: start},
		Logs: []Log{{Node: "s", Role: metrics.Server, Usages: []Sample{ofUsage(after(1), usage), ofUsage(after(3), noInterface)}}},
	}
	for _, test := range []struct {
		name string
		of   Quantity
		want plotter.XYs
	}{
		{"CPU", CPU, plotter.XYs{{X: 0, Y: 75}, {X: 2, Y: 75}}},
		{"Memory", Memory, plotter.XYs{{X: 0, Y: 3}, {X: 2, Y: 3}}},
		{"Received", Received, plotter.XYs{{X: 0, Y: 10}}},
		{"Sent", Sent, plotter.XYs{{X: 0, Y: 2}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantPoints(t, test.name, r.Series(test.of)[0].Points, test.want)
		})
	}
}

func TestPhasesMeetAtTheWindow(t *testing.T) {
	phases := twoClients().Phases()
	for phase, want := range map[metrics.Phase][2]float64{
		metrics.WarmUp: {-1, 0}, metrics.Window: {0, 2}, metrics.Drain: {2, 2.25},
	} {
		if phases[phase] != want {
			t.Errorf("%s is %v, want %v", phase, phases[phase], want)
		}
	}
}

func TestWorkSpan(t *testing.T) {
	idle := twoClients()
	for i := range idle.Logs {
		idle.Logs[i].Intervals = nil
	}
	noWindow := twoClients()
	noWindow.WindowStart, noWindow.Started = time.Time{}, start
	late := twoClients()
	late.Logs[1].Intervals = append(late.Logs[1].Intervals, interval(2.7, 0.7, 5, metrics.Done), interval(9, 1, 0, metrics.Done))
	for _, test := range []struct {
		name string
		run  *Run
		want [2]float64
	}{
		{"client b drains last", twoClients(), [2]float64{-1, 2.25}},
		{"operations after the drain's end", late, [2]float64{-1, 2.7}},
		{"a window and no records", idle, [2]float64{0, 2}},
		{"records and no window", noWindow, [2]float64{-1, 2.25}},
		{"nothing", &Run{}, [2]float64{0, 1}},
	} {
		if start, end := test.run.WorkSpan(); math.Abs(start-test.want[0]) > 1e-9 || math.Abs(end-test.want[1]) > 1e-9 {
			t.Errorf("%s: the span is %g to %g, want %v", test.name, start, end, test.want)
		}
	}
}

func TestOriginWithoutAWindow(t *testing.T) {
	r := twoClients()
	r.WindowStart = time.Time{}
	if got := r.origin(); !got.Equal(after(0)) {
		t.Errorf("origin is %v, want the first record's time, %v", got, after(0))
	}
	r.Started = after(-3)
	if got := r.origin(); !got.Equal(after(-3)) {
		t.Errorf("origin is %v, want the run's start, %v", got, after(-3))
	}
}
