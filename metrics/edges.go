package metrics

import (
	"math"
	"time"
)

// EdgeSlots is how many slots each end of a window has: they reach as far as
// clients' windows may be apart, a twentieth of one (DESIGN, section 6).
const EdgeSlots = 150

// EdgeSlot is a slot's length: a 3000th of the window, 10 ms of 30 s. So the
// memory is the same for a day.
func EdgeSlot(window time.Duration) time.Duration {
	return max(1, window/(20*EdgeSlots))
}

// Edges are a client's verified operations near both ends of its window, by the
// slot that their reply came in. They say what came inside a window that begins
// a little later or ends a little earlier: one that all clients have in common.
type Edges struct {
	SlotS float64  `json:"slot_s"` // a slot's length
	First []uint64 `json:"first"`  // from the opening on
	Last  []uint64 `json:"last"`   // up to the close
}

// Within returns how many of the operations of the summary's window came in the
// stretch of it that begins lateS seconds after its opening and ends earlyS
// seconds before its close, both at the nearest slot's end and within the edges;
// and that stretch's length in seconds. The count is exact for that stretch. A
// summary without edges has its window and nothing else.
func (s Summary) Within(lateS, earlyS float64) (ops uint64, seconds float64) {
	ops, seconds = s.InWindow.Ops(), s.WindowLengthS
	if s.Edges == nil || s.Edges.SlotS <= 0 {
		return ops, seconds
	}
	e := s.Edges
	late, early := e.slots(lateS, len(e.First)), e.slots(earlyS, len(e.Last))
	for _, n := range e.First[:late] {
		ops -= n
	}
	for _, n := range e.Last[len(e.Last)-early:] {
		ops -= n
	}
	return ops, seconds - float64(late+early)*e.SlotS
}

// slots is how many slots are nearest to a time from 0 on, at most most.
func (e *Edges) slots(seconds float64, most int) int {
	return int(min(math.Round(max(0, seconds)/e.SlotS), float64(most)))
}
