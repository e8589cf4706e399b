package folder

import (
	"math"
	"time"

	"kvlab/metrics"
)

// Quantity is what a node measures over time.
type Quantity int

// The quantities of a sample. A sample of an interval has only the first; one of a
// usage has the others.
const (
	OpsPerS    Quantity = iota
	CPU                 // per cent of all cores
	Memory              // in use on the machine, GiB
	Received            // by the data interface, Gb/s
	Sent                // by the data interface, Gb/s
	RSS                 // of the node's process, MB
	Goroutines          // of the node's process
	OpenFiles           // of the node's process
	quantities
)

// Sample is what a node measured in the LengthS seconds before Time. A value that it
// did not measure is NaN.
type Sample struct {
	Time    time.Time
	LengthS float64
	Phase   metrics.Phase
	Values  [quantities]float64
}

// ofInterval makes a sample of an interval.
func ofInterval(at time.Time, i metrics.Interval) Sample {
	return Sample{at, i.LengthS, i.Phase, [quantities]float64{OpsPerS: i.OpsPerS()}}
}

// ofUsage makes a sample of a usage. Without the data interface, the traffic is NaN.
func ofUsage(at time.Time, u metrics.Usage) Sample {
	data, ok := u.Data()
	if !ok {
		data.RxBytesPerS, data.TxBytesPerS = math.NaN(), math.NaN()
	}
	return Sample{at, u.LengthS, u.Phase, [quantities]float64{
		CPU: u.CPUPercent, Memory: float64(u.MemoryUsedBytes) / (1 << 30),
		Received: data.RxBytesPerS * 8 / 1e9, Sent: data.TxBytesPerS * 8 / 1e9,
		RSS: float64(u.Process.RSSBytes) / 1e6, Goroutines: float64(u.Process.Goroutines), OpenFiles: float64(u.Process.OpenFiles),
	}}
}

// maxPoints is how many samples of a kind a log keeps of its node: more than a figure
// has room for, and little memory for a run of any length.
const maxPoints = 1024

// track is a node's samples of one kind in the order of time. Beyond maxPoints, each
// group of stride samples of one phase is joined into one.
type track struct {
	samples   []Sample
	n, stride int // samples added, and those of a group
}

// add adds the next sample.
func (t *track) add(s Sample) {
	t.stride = max(1, t.stride)
	if t.n%t.stride == 0 || !t.join(s) {
		t.samples = append(t.samples, s)
	}
	t.n++
	if len(t.samples) <= maxPoints {
		return
	}
	all := t.samples
	t.samples = all[:0]
	for i, s := range all {
		if i%2 == 0 || !t.join(s) {
			t.samples = append(t.samples, s)
		}
	}
	t.stride *= 2
}

// join joins a sample with the last one: the values become means over the time. It
// reports false for samples of two phases.
func (t *track) join(s Sample) bool {
	last := &t.samples[len(t.samples)-1]
	if last.Phase != s.Phase {
		return false
	}
	share := 0.5
	if both := last.LengthS + s.LengthS; both > 0 {
		share = s.LengthS / both
	}
	for q, value := range s.Values {
		last.Values[q] += share * (value - last.Values[q])
	}
	last.Time, last.LengthS = s.Time, last.LengthS+s.LengthS
	return true
}
