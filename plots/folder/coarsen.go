package folder

import "kvlab/metrics"

// maxPoints is how many measurements of a kind a log keeps of its node: more than
// a figure has places for, and 1 MB of a node in a run of any length.
const maxPoints = 1024

// track is a node's measurements of one kind in the order of time. Beyond
// maxPoints, groups of stride measurements are joined into one.
type track[T any] struct {
	points []At[T]
	stride int // measurements of a full group
	last   int // measurements of the last group
	most   int // points beyond which the groups are joined in pairs
	join   func(a, b T) (T, bool)
}

// add puts the next measurement at the end.
func (t *track[T]) add(point At[T]) {
	if t.last >= t.stride || !t.joinLast(point) {
		t.points, t.last = append(t.points, point), 0
	}
	t.last++
	t.most = max(t.most, maxPoints)
	if len(t.points) <= t.most {
		return
	}
	all := t.points
	t.points = all[:0]
	for i, p := range all {
		if i%2 == 0 || !t.joinLast(p) {
			t.points = append(t.points, p)
		}
	}
	clear(all[len(t.points):])
	t.stride = max(2, 2*t.stride)
	t.last = t.stride
	if len(t.points) > maxPoints*3/4 { // hardly anything but changes of phase, which no node writes
		t.most *= 2
	}
}

// joinLast joins a measurement with the last point, if they can be joined.
func (t *track[T]) joinLast(point At[T]) bool {
	n := len(t.points)
	if n == 0 {
		return false
	}
	joined, ok := t.join(t.points[n-1].Value, point.Value)
	if ok {
		t.points[n-1] = At[T]{point.Time, joined}
	}
	return ok
}

// joinIntervals adds up two neighbours of one phase.
func joinIntervals(a, b metrics.Interval) (metrics.Interval, bool) {
	same := a.Phase == b.Phase
	a.LengthS = span(a.StartS, a.LengthS, b.StartS, b.LengthS)
	a.Counts = a.Counts.Add(b.Counts)
	return a, same
}

// joinUsages returns the means of two neighbours of one phase, of the values that
// figures show.
func joinUsages(a, b metrics.Usage) (metrics.Usage, bool) {
	share := 0.5
	if sum := a.LengthS + b.LengthS; sum > 0 {
		share = b.LengthS / sum
	}
	mean := func(x, y float64) float64 { return x + share*(y-x) }
	whole := func(x, y uint64) uint64 { return uint64(mean(float64(x), float64(y))) }
	joined := metrics.Usage{Phase: a.Phase, StartS: a.StartS, LengthS: span(a.StartS, a.LengthS, b.StartS, b.LengthS),
		CPUPercent: mean(a.CPUPercent, b.CPUPercent), MemoryUsedBytes: whole(a.MemoryUsedBytes, b.MemoryUsedBytes), DataInterface: b.DataInterface, Interfaces: b.Interfaces}
	joined.Process = metrics.ProcessUsage{RSSBytes: whole(a.Process.RSSBytes, b.Process.RSSBytes),
		Goroutines: max(a.Process.Goroutines, b.Process.Goroutines), OpenFiles: max(a.Process.OpenFiles, b.Process.OpenFiles)}
	first, ok := a.Data()
	second, both := b.Data()
	if ok && both {
		joined.Interfaces = []metrics.InterfaceUsage{{Name: first.Name,
			RxBytesPerS: mean(first.RxBytesPerS, second.RxBytesPerS), TxBytesPerS: mean(first.TxBytesPerS, second.TxBytesPerS)}}
	}
	return joined, a.Phase == b.Phase
}

// ownInterface removes the single cores and the other interfaces, which are most of
// a record and in no figure.
func ownInterface(u metrics.Usage) metrics.Usage {
	u.CorePercent = nil
	data, ok := u.Data()
	u.Interfaces = nil
	if ok {
		u.Interfaces = []metrics.InterfaceUsage{data}
	}
	return u
}

// span is the length of two stretches of time, with the gap between them.
func span(startS, lengthS, nextS, nextLengthS float64) float64 {
	return max(lengthS+nextLengthS, nextS+nextLengthS-startS)
}
