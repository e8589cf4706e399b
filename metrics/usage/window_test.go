package usage

import (
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"kvlab/metrics"
)

// TestSaturationOverFixtures: 200 ticks pass between the two, 100 of them busy.
func TestSaturationOverFixtures(t *testing.T) {
	proc := newFakeProc(t, "proc-0")
	synctest.Test(t, func(t *testing.T) {
		s := must(NewSampler(time.Now()))(t)
		s.DataInterface = "eno1d1"
		if err := s.OpenWindow(); err != nil {
			t.Fatal(err)
		}
		s.window.ownCores.Zero()
		s.window.ownCores.Set(0)
		s.window.ownCores.Set(7) // does not exist
		time.Sleep(time.Second)
		proc.show("proc-1")
		_, got, err := s.CloseWindow()
		if err != nil {
			t.Fatal(err)
		}
		got.ProcessCPUPercent, got.GCPercent = 0, 0 // the real ones
		want := metrics.Saturation{
			Start: time.Now().Add(-time.Second), LengthS: 1,
			OwnCoresPercent: 80, BusiestCorePercent: 80, InterruptPercent: 2.5, StolenPercent: 2.5,
			Runnable: 2, Retransmits: 3, OpeningRSSBytes: 8 << 20, ProcessRSSBytes: 8 << 20,
		}
		if got != want {
			t.Errorf("saturation\n got %+v\nwant %+v", got, want)
		}
	})
}

// Collecting garbage is a share of the process's own time, and idle cores that
// help do not count.
func TestGCPercent(t *testing.T) {
	s := must(NewSampler(time.Now()))(t)
	s.DataInterface = "lo"
	measure := func(work func()) metrics.Saturation {
		if err := s.OpenWindow(); err != nil {
			t.Fatal(err)
		}
		work()
		_, saturation, err := s.CloseWindow()
		if err != nil {
			t.Fatal(err)
		}
		return saturation
	}
	heap := make([]*[]byte, 1<<18)
	for i := range heap {
		heap[i] = new(make([]byte, 8))
	}
	collecting := measure(func() {
		for range 20 {
			runtime.GC()
		}
	})
	runtime.KeepAlive(heap)
	computing := measure(func() {
		for x := 1.0; x < 3e6; x++ {
			if math.Sin(x) > 2 {
				t.Error("this cannot be")
			}
		}
	})
	if collecting.GCPercent < 2 || collecting.GCPercent > 100 || collecting.ProcessCPUPercent <= 0 {
		t.Errorf("collecting: %+v, want a good part of the time", collecting)
	}
	if computing.GCPercent > collecting.GCPercent/2 || computing.GCPercent < 0 {
		t.Errorf("computing: %+v, want next to nothing", computing)
	}
}
