package folder

import (
	"bytes"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"testing"
	"testing/fstest"

	"kvlab/metrics"
)

// tape is the file of a client that ran for some seconds, made while it is
// read: it never exists as a whole.
type tape struct {
	seconds, at int
	rest        bytes.Buffer
	usage       metrics.Usage
}

func (t *tape) Stat() (fs.FileInfo, error) { return nil, fs.ErrInvalid }
func (t *tape) Close() error               { return nil }

func (t *tape) Read(p []byte) (int, error) {
	for t.rest.Len() < len(p) && t.at < t.seconds {
		t.at++
		s := float64(t.at)
		record := metrics.Record{Node: "n", Role: metrics.Client, Time: after(s)}
		if t.at == 1 {
			record.Config = &metrics.Config{Schema: metrics.Schema}
			if err := metrics.WriteRecord(&t.rest, record); err != nil {
				return 0, err
			}
			record.Config = nil
		}
		record.Interval = &metrics.Interval{Phase: metrics.Window, StartS: s - 1, LengthS: 1, Counts: metrics.Counts{Gets: uint64(t.at)}}
		if err := metrics.WriteRecord(&t.rest, record); err != nil {
			return 0, err
		}
		t.usage.StartS, t.usage.CPUPercent = s-1, 100*s/float64(t.seconds)
		record.Interval, record.Usage = nil, &t.usage
		if err := metrics.WriteRecord(&t.rest, record); err != nil {
			return 0, err
		}
	}
	if t.rest.Len() == 0 {
		return 0, io.EOF
	}
	return t.rest.Read(p)
}

// tapeFolder is a run's folder with one such file.
type tapeFolder struct {
	fstest.MapFS
	tape *tape
}

func (f tapeFolder) Open(name string) (fs.File, error) {
	if name == "kvsclient-n.jsonl" {
		return f.tape, nil
	}
	return f.MapFS.Open(name)
}

// A long run is read in bounded memory, and what is joined adds up: an hour, and
// a day with KVLAB_LONG=1.
func TestLoadOfALongRunIsBounded(t *testing.T) {
	seconds := 3600
	if os.Getenv("KVLAB_LONG") == "1" {
		seconds = 24 * 3600
	}
	usage := metrics.Usage{Phase: metrics.Window, LengthS: 1, CorePercent: make([]float64, 64), DataInterface: "eth0",
		Interfaces: []metrics.InterfaceUsage{{Name: "lo"}, {Name: "eth0", RxBytesPerS: 5}}}
	folder := tapeFolder{fstest.MapFS{"kvsclient-n.jsonl": file("")}, &tape{seconds: seconds, usage: usage}}
	before := heap()
	r, err := read(folder)
	if err != nil {
		t.Fatal(err)
	}
	if grown := int64(heap()) - int64(before); grown > 8<<20 {
		t.Errorf("a run of %d s takes %d bytes, want a few megabytes", seconds, grown)
	}
	log := r.Logs[0]
	for what, n := range map[string]int{"intervals": len(log.Intervals), "usages": len(log.Usages), "totals": len(r.TotalThroughput())} {
		if n < maxPoints/4 || n > maxPoints+1 {
			t.Errorf("%d %s of %d s, want about %d", n, what, seconds, maxPoints)
		}
	}
	sum, lengthS, cpu := 0.0, 0.0, 0.0
	for _, i := range log.Intervals {
		sum, lengthS = sum+i.Values[OpsPerS]*i.LengthS, lengthS+i.LengthS
	}
	for _, u := range log.Usages {
		cpu += u.Values[CPU] * u.LengthS
		if got := u.Values[Received]; got != 40e-9 {
			t.Fatalf("%v Gb/s were received, want 5 B/s", got)
		}
	}
	if want := float64(seconds) * float64(seconds+1) / 2; math.Abs(sum/want-1) > 1e-9 || math.Abs(lengthS-float64(seconds)) > 1e-6 {
		t.Errorf("%v operations in %v s, want %v in %d", sum, lengthS, want, seconds)
	}
	if want := 50 * float64(seconds+1); math.Abs(cpu/want-1) > 1e-9 {
		t.Errorf("CPU adds up to %v, want %v", cpu, want)
	}
	runtime.KeepAlive(r)
}

// heap returns what is in use on the heap.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Phases stay apart however long the run is.
func TestTrackKeepsPhasesApart(t *testing.T) {
	var intervals track
	for s := range 3 * maxPoints {
		phase := metrics.WarmUp
		if s >= maxPoints {
			phase = metrics.Window
		}
		intervals.add(interval(float64(s+1), 1, 1, phase))
	}
	spans := (&Run{Run: metrics.Run{}, Logs: []Log{{Role: metrics.Client, Intervals: intervals.samples}}}).Phases()
	if got := spans[metrics.WarmUp]; math.Abs(got[1]-got[0]-maxPoints) > 1e-6 {
		t.Errorf("the warm-up lasts from %v to %v, want %d s", got[0], got[1], maxPoints)
	}
}
