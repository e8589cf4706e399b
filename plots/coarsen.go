package plots

import (
	"kvlab/metrics"
)

// maxPoints is how many measurements of a kind a log keeps of its node: more
// than a figure has places for, and 1 MB of a node whatever its run lasted.
const maxPoints = 1024

// joinIntervals is what two neighbours of one phase say of the time of both.
func joinIntervals(a, b At[metrics.Interval]) (At[metrics.Interval], bool) {
	if a.Value.Phase != b.Value.Phase {
		return a, false
	}
	joined := At[metrics.Interval]{b.Time, a.Value}
	joined.Value.LengthS = span(a.Value.StartS, a.Value.LengthS, b.Value.StartS, b.Value.LengthS)
	joined.Value.Counts = a.Value.Counts.Add(b.Value.Counts)
	return joined, true
}

// joinUsages is joinIntervals of usages: means weighted by length, the sums of
// what is counted, and the most of what may only leak.
func joinUsages(a, b At[metrics.Usage]) (At[metrics.Usage], bool) {
	u, v := a.Value, b.Value
	if u.Phase != v.Phase {
		return a, false
	}
	share := 0.5
	if u.LengthS+v.LengthS > 0 {
		share = v.LengthS / (u.LengthS + v.LengthS)
	}
	mean := func(x, y float64) float64 { return x + share*(y-x) }
	whole := func(x, y uint64) uint64 { return uint64(mean(float64(x), float64(y))) }
	joined := u
	joined.LengthS = span(u.StartS, u.LengthS, v.StartS, v.LengthS)
	joined.CPUPercent = mean(u.CPUPercent, v.CPUPercent)
	joined.MemoryUsedBytes = whole(u.MemoryUsedBytes, v.MemoryUsedBytes)
	joined.TCPRetransmits = u.TCPRetransmits + v.TCPRetransmits
	joined.ContextSwitchesPerS = mean(u.ContextSwitchesPerS, v.ContextSwitchesPerS)
	joined.Process = metrics.ProcessUsage{
		CPUPercent: mean(u.Process.CPUPercent, v.Process.CPUPercent),
		RSSBytes:   whole(u.Process.RSSBytes, v.Process.RSSBytes),
		Goroutines: max(u.Process.Goroutines, v.Process.Goroutines),
		OpenFiles:  max(u.Process.OpenFiles, v.Process.OpenFiles),
		GCCycles:   u.Process.GCCycles + v.Process.GCCycles,
		GCPauseS:   u.Process.GCPauseS + v.Process.GCPauseS,
		HeapBytes:  whole(u.Process.HeapBytes, v.Process.HeapBytes),
		LiveBytes:  whole(u.Process.LiveBytes, v.Process.LiveBytes),
		HeldBytes:  whole(u.Process.HeldBytes, v.Process.HeldBytes),
	}
	first, ok := u.Data()
	second, both := v.Data()
	if !ok || !both {
		joined.Interfaces, joined.DataInterface = v.Interfaces, v.DataInterface
		return At[metrics.Usage]{b.Time, joined}, true
	}
	joined.Interfaces = []metrics.InterfaceUsage{{
		Name:        first.Name,
		RxBytesPerS: mean(first.RxBytesPerS, second.RxBytesPerS), TxBytesPerS: mean(first.TxBytesPerS, second.TxBytesPerS),
		RxPacketsPerS: mean(first.RxPacketsPerS, second.RxPacketsPerS), TxPacketsPerS: mean(first.TxPacketsPerS, second.TxPacketsPerS),
	}}
	return At[metrics.Usage]{b.Time, joined}, true
}

// ownInterface leaves a usage with what the figures show: they have no use for
// single cores and for other interfaces, which are most of a record.
func ownInterface(u metrics.Usage) metrics.Usage {
	u.CorePercent = nil
	data, ok := u.Data()
	u.Interfaces = nil
	if ok {
		u.Interfaces = []metrics.InterfaceUsage{data}
	}
	return u
}

// span is the length of what begins with one stretch of time and ends with a
// later one, a gap between them included.
func span(startS, lengthS, nextS, nextLengthS float64) float64 {
	return max(lengthS+nextLengthS, nextS+nextLengthS-startS)
}

// track is a node's measurements of one kind in the order of time, in bounded
// memory: once there are more than maxPoints, neighbours that together last no
// longer than widthS are joined where they can be, and so are those that follow.
type track[T any] struct {
	points []At[T]
	widthS float64 // 0: none was joined
	most   int     // points before neighbours are joined
	length func(T) float64
	join   func(a, b At[T]) (At[T], bool)
}

// add puts the next measurement at the end. A file of hardly anything but changes
// of phase, which no node writes, keeps more than maxPoints.
func (t *track[T]) add(point At[T]) {
	t.points = t.follow(t.points, point)
	t.most = max(t.most, maxPoints)
	for round := 0; len(t.points) > t.most; round++ {
		const enough = 20 // doublings: from a second to 12 days
		if round == enough {
			t.most *= 2
			return
		}
		t.widthS = max(2*t.widthS, 2*t.length(point.Value))
		kept := t.points[:0]
		for _, p := range t.points {
			kept = t.follow(kept, p)
		}
		clear(t.points[len(kept):])
		t.points = kept
	}
}

// follow appends a measurement to kept, or joins it with the last.
func (t *track[T]) follow(kept []At[T], point At[T]) []At[T] {
	const slack = 1.001 // a second's interval lasts a little longer
	if n := len(kept); n > 0 && t.length(kept[n-1].Value)+t.length(point.Value) <= slack*t.widthS {
		if joined, ok := t.join(kept[n-1], point); ok {
			kept[n-1] = joined
			return kept
		}
	}
	return append(kept, point)
}

// newIntervals is an empty track of intervals.
func newIntervals() *track[metrics.Interval] {
	return &track[metrics.Interval]{length: func(i metrics.Interval) float64 { return i.LengthS }, join: joinIntervals}
}

// newUsages is an empty track of usages.
func newUsages() *track[metrics.Usage] {
	return &track[metrics.Usage]{length: func(u metrics.Usage) float64 { return u.LengthS }, join: joinUsages}
}
