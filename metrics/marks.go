package metrics

import (
	"math"
	"sort"
	"time"
)

// Marks are the operations that a server had applied in all at moments up to a phase's
// beginning, of which it hears late.
type Marks struct {
	Start time.Time `json:"start"` // the first moment, by the clock of Record.Time
	AtS   []float64 `json:"at_s"`  // the moments, in seconds after it, in order
	Ops   []uint64  `json:"ops"`   // at these moments
}

// Within returns bounds of the operations that had been applied at a time that is known
// to errorS seconds: 0 before the first moment, and MaxUint64 after the last.
func (m Marks) Within(at time.Time, errorS float64) (least, most uint64) {
	s := at.Sub(m.Start).Seconds()
	if before := sort.Search(len(m.AtS), func(i int) bool { return m.AtS[i] > s-errorS }); before > 0 {
		least = m.Ops[before-1]
	}
	most = math.MaxUint64
	if after := sort.SearchFloat64s(m.AtS, s+errorS); after < len(m.AtS) {
		most = m.Ops[after]
	}
	return least, most
}
