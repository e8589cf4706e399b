package usage

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kvlab/metrics"
)

// fakeProc is a directory that HOST_PROC points to for the length of a test, and
// whose content show replaces with a fixture's.
type fakeProc struct {
	t   *testing.T
	dir string
}

func newFakeProc(t *testing.T, fixture string) fakeProc {
	t.Helper()
	p := fakeProc{t, t.TempDir()}
	t.Setenv("HOST_PROC", p.dir)
	p.show(fixture)
	return p
}

func (p fakeProc) show(fixture string) {
	p.t.Helper()
	root := filepath.Join("testdata", fixture)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil || d.IsDir():
			return err
		case d.Type() == fs.ModeSymlink: // self
			err := os.Symlink("4765", filepath.Join(p.dir, name))
			if errors.Is(err, fs.ErrExist) {
				err = nil
			}
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		p.write(name, string(text))
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p fakeProc) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
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

// TestSampleOverFixtures runs on a fake clock, on which exactly one second
// passes between two fixtures, so that every rate is exact.
func TestSampleOverFixtures(t *testing.T) {
	proc := newFakeProc(t, "proc-0")
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		time.Sleep(250 * time.Millisecond)
		s := must(NewSampler(start))(t)
		s.DataInterface = "eno1d1"

		time.Sleep(time.Second)
		proc.show("proc-1")
		got := must(s.Sample(metrics.WarmUp))(t)
		got.Process = metrics.ProcessUsage{} // the real one
		want := metrics.Usage{
			Phase: metrics.WarmUp, StartS: 0.25, LengthS: 1,
			CPUPercent: 50, CorePercent: []float64{80, 20},
			MemoryUsedBytes: 5000000 << 10, MemoryTotalBytes: 16000000 << 10,
			DataInterface: "eno1d1",
			Interfaces: []metrics.InterfaceUsage{
				{Name: "eno1", RxBytesPerS: 1000, TxBytesPerS: 2000, RxPacketsPerS: 10, TxPacketsPerS: 20},
				{Name: "eno1d1", RxBytesPerS: 125e6, TxBytesPerS: 1250e6, RxPacketsPerS: 100e3, TxPacketsPerS: 900e3},
				{Name: "lo"},
			},
			TCPRetransmits: 3, ContextSwitchesPerS: 12345,
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("usage\n got %+v\nwant %+v", got, want)
		}

		// Half a second later: counters have gone backwards, a core and an
		// interface are gone and a new interface has come.
		time.Sleep(500 * time.Millisecond)
		proc.show("proc-2")
		got = must(s.Sample(metrics.Window))(t)
		got.Process = metrics.ProcessUsage{}
		want = metrics.Usage{
			Phase: metrics.Window, StartS: 1.25, LengthS: 0.5,
			CPUPercent: 50, CorePercent: []float64{50},
			MemoryUsedBytes: 4500000 << 10, MemoryTotalBytes: 16000000 << 10,
			DataInterface:       "eno1d1",
			Interfaces:          []metrics.InterfaceUsage{{Name: "eno1d1"}, {Name: "lo"}},
			ContextSwitchesPerS: 110,
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("usage after resets\n got %+v\nwant %+v", got, want)
		}
	})
}

func TestWindowAveragesComeFromTheCountersAtItsEnds(t *testing.T) {
	proc := newFakeProc(t, "proc-0")
	synctest.Test(t, func(t *testing.T) {
		s := must(NewSampler(time.Now()))(t)
		if err := s.OpenWindow(); err == nil || !strings.Contains(err.Error(), "data interface is not known") {
			t.Errorf("OpenWindow without a data interface: %v", err)
		}
		s.DataInterface = "eno1d1"
		if _, _, err := s.CloseWindow(); err == nil {
			t.Error("CloseWindow without a window: no error")
		}

		// The window opens half a second after a sample, and a sample at rest
		// straddles its beginning.
		time.Sleep(500 * time.Millisecond)
		if err := s.OpenWindow(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
		must(s.Sample(metrics.Window))(t)
		time.Sleep(time.Second)
		proc.show("proc-1")
		must(s.Sample(metrics.Window))(t) // one busy second wholly inside
		time.Sleep(2500 * time.Millisecond)
		got := closedTable(t, s)

		// 4 s: memory 4e6 kB for 0.5 s, rising to 5e6 in 1 s, there for 2.5 s.
		memory := (4e6*0.5 + 4.5e6*1 + 5e6*2.5) / 4 * 1024
		want := metrics.Table{
			DataInterface: "eno1d1",
			CPUPercent:    metrics.AvgPeak{Avg: 50, Peak: 50}, // all ticks of the window fell into that second
			MemoryBytes:   metrics.AvgPeak{Avg: memory, Peak: 5e6 * 1024},
			RxBytesPerS:   metrics.AvgPeak{Avg: 125e6 / 4, Peak: 125e6},
			TxBytesPerS:   metrics.AvgPeak{Avg: 1250e6 / 4, Peak: 1250e6},
		}
		if got != want {
			t.Errorf("table\n got %+v\nwant %+v", got, want)
		}
	})
}

// A window without a sample inside still has an average, and no peak below it.
func TestShortWindow(t *testing.T) {
	proc := newFakeProc(t, "proc-0")
	synctest.Test(t, func(t *testing.T) {
		s := must(NewSampler(time.Now()))(t)
		s.DataInterface = "eno1"
		if err := s.OpenWindow(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		proc.show("proc-1")
		got := closedTable(t, s)
		if want := (metrics.AvgPeak{Avg: 10e3, Peak: 10e3}); got.RxBytesPerS != want {
			t.Errorf("RX = %+v, want %+v", got.RxBytesPerS, want)
		}
		if want := (metrics.AvgPeak{Avg: 50, Peak: 50}); got.CPUPercent != want {
			t.Errorf("CPU = %+v, want %+v", got.CPUPercent, want)
		}
	})
}

func TestSamplerReportsBadFiles(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"stat", "cpu  1 2 x\n", "/stat: "},
		{"meminfo", "", "/meminfo: no MemTotal"},
		{"net/dev", "Inter-|\n face |bytes\nlo: 1\n", `/net/dev: interface "lo": EOF`},
		{"net/dev", "Inter-|\n face |bytes\n", "data interface eno1d1 is not in "},
		{"self/net/snmp", "Tcp: RetransSegs\nTcp: x\n", "/self/net/snmp: "},
		{"self/status", "Name:\tkvsserver\n", "self/status: no VmRSS"},
	} {
		t.Run(tt.file, func(t *testing.T) {
			proc := newFakeProc(t, "proc-0")
			s := must(NewSampler(time.Now()))(t)
			s.DataInterface = "eno1d1"
			proc.write(tt.file, tt.text)
			for name, call := range map[string]func() error{
				"Sample":     func() error { _, err := s.Sample(metrics.Window); return err },
				"OpenWindow": s.OpenWindow,
			} {
				if err := call(); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: error %v, want one with %q", name, err, tt.want)
				}
			}
			proc.show("proc-1") // a sound file again: the next sample covers the gap
			if u := must(s.Sample(metrics.Window))(t); u.CPUPercent != 50 {
				t.Errorf("CPU after the fault = %v, want 50", u.CPUPercent)
			}
		})
	}
	for _, file := range []string{"stat", "meminfo", "net/dev", "self/net/snmp", "self/status"} {
		t.Run("missing "+file, func(t *testing.T) {
			proc := newFakeProc(t, "proc-0")
			if err := os.Remove(filepath.Join(proc.dir, file)); err != nil {
				t.Fatal(err)
			}
			if _, err := NewSampler(time.Now()); err == nil || !strings.Contains(err.Error(), filepath.Join(proc.dir, file)) {
				t.Errorf("error %v, want one that names %s", err, file)
			}
		})
	}
}

// TestSamplerOnThisMachine samples the real /proc.
func TestSamplerOnThisMachine(t *testing.T) {
	s := must(NewSampler(time.Now()))(t)
	s.DataInterface = "lo"
	if err := s.OpenWindow(); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		checkPlausible(t, must(s.Sample(metrics.Window))(t))
	}
	table := closedTable(t, s)
	// The average of equal samples may exceed them by a rounding error.
	if m := table.MemoryBytes; m.Avg <= 0 || m.Peak < m.Avg*(1-1e-9) {
		t.Errorf("memory %+v", table.MemoryBytes)
	}
}

// closedTable closes the window and returns its table.
func closedTable(t *testing.T, s *Sampler) metrics.Table {
	t.Helper()
	table, _, err := s.CloseWindow()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func checkPlausible(t *testing.T, u metrics.Usage) {
	t.Helper()
	if _, ok := u.Data(); !ok || u.LengthS < 0 || u.Process.RSSBytes == 0 || u.Process.HeapBytes == 0 || u.Process.HeldBytes == 0 || u.Process.HeldBytes > u.Process.RSSBytes ||
		u.Process.Goroutines < 1 || u.Process.OpenFiles < 3 || u.MemoryUsedBytes == 0 || u.MemoryUsedBytes > u.MemoryTotalBytes {
		t.Errorf("implausible usage %+v", u)
	}
	if u.CPUPercent < 0 || u.CPUPercent > 100 || u.Process.CPUPercent < 0 || math.IsInf(u.Process.CPUPercent, 0) {
		t.Errorf("CPU %v %%, process %v %%", u.CPUPercent, u.Process.CPUPercent)
	}
	if _, err := json.Marshal(u); err != nil {
		t.Error(err)
	}
}

func TestProcessUsageIsADifference(t *testing.T) {
	levels := metrics.ProcessUsage{RSSBytes: 100, Goroutines: 30, OpenFiles: 40, HeapBytes: 20, LiveBytes: 15}
	levels.HeldBytes = heldBytes(levels, 13)
	before := process{cpu: time.Second, gcCycles: 3, gcPause: time.Millisecond, now: metrics.ProcessUsage{RSSBytes: 1, Goroutines: 1}}
	now := process{cpu: 4 * time.Second, gcCycles: 5, gcPause: 3 * time.Millisecond, now: levels}
	want := metrics.ProcessUsage{CPUPercent: 150, RSSBytes: 100, Goroutines: 30, OpenFiles: 40, GCCycles: 2, GCPauseS: 0.002, HeapBytes: 20, LiveBytes: 15, HeldBytes: 82}
	if got := now.usage(before, 2); got != want {
		t.Errorf("usage = %+v, want %+v", got, want)
	}
}

func BenchmarkSample(b *testing.B) {
	s := must(NewSampler(time.Now()))(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Sample(metrics.Window); err != nil {
			b.Fatal(err)
		}
	}
}
