package loadgen

import (
	"time"

	"kvlab/metrics"
)

// edges are a worker's verified operations near the window's ends, by slot: first
// those from its opening on, then those up to its close. A call counts whole, in
// the slot that its reply came in.
type edges [2 * metrics.EdgeSlots]uint64

// edge is the slot of a time in the window, and false for one that is far from
// both ends.
func (s *span) edge(t time.Time) (slot int, ok bool) {
	length := metrics.EdgeSlot(s.closes.Sub(s.opens))
	if i := int(t.Sub(s.opens) / length); i < metrics.EdgeSlots {
		return i, true
	}
	if i := int((s.closes.Sub(t) - 1) / length); i < metrics.EdgeSlots {
		return 2*metrics.EdgeSlots - 1 - i, true
	}
	return 0, false
}

// edges adds up those of all workers.
func (g *Generator) edges() *metrics.Edges {
	sum := &metrics.Edges{
		SlotS: metrics.EdgeSlot(g.config.Window).Seconds(),
		First: make([]uint64, metrics.EdgeSlots),
		Last:  make([]uint64, metrics.EdgeSlots),
	}
	for _, w := range g.workers {
		for i := range metrics.EdgeSlots {
			sum.First[i] += w.edges[i]
			sum.Last[i] += w.edges[metrics.EdgeSlots+i]
		}
	}
	return sum
}
