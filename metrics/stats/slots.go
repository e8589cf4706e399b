package stats

// Slots are counts by time. A slot begins at a multiple of its width since 1970. Its width is
// 2^20 ns, doubled until there are at most 128 slots.
type Slots struct {
	WidthNs int64    `json:"width_ns"`
	First   int64    `json:"first"` // the number of the first slot: its beginning, divided by WidthNs
	Counts  []uint64 `json:"counts"`
}

// mostSlots is how many slots there are at most.
const mostSlots = 128

// Add adds n at a time in nanoseconds since 1970.
func (s *Slots) Add(at int64, n uint64) {
	if s.Counts == nil {
		s.WidthNs = max(s.WidthNs, 1<<20)
		s.First = at / s.WidthNs
	}
	for {
		first, end := min(s.First, at/s.WidthNs), max(s.First+int64(len(s.Counts)), at/s.WidthNs+1)
		if end-first <= mostSlots {
			s.span(first, end)
			s.Counts[at/s.WidthNs-first] += n
			return
		}
		s.widen()
	}
}

// span makes the slots reach from first up to, but without, end.
func (s *Slots) span(first, end int64) {
	if first < s.First {
		s.Counts = append(make([]uint64, s.First-first), s.Counts...)
		s.First = first
	}
	for int64(len(s.Counts)) < end-first {
		s.Counts = append(s.Counts, 0)
	}
}

// widen doubles the width.
func (s *Slots) widen() {
	first := s.First >> 1
	counts := make([]uint64, (s.First+int64(len(s.Counts))+1)>>1-first)
	for i, n := range s.Counts {
		counts[(s.First+int64(i))>>1-first] += n
	}
	s.WidthNs, s.First, s.Counts = 2*s.WidthNs, first, counts
}

// Merge adds other slots.
func (s *Slots) Merge(o Slots) {
	if s.Counts == nil {
		s.WidthNs = max(s.WidthNs, o.WidthNs)
	}
	for s.Counts != nil && s.WidthNs < o.WidthNs {
		s.widen()
	}
	for i, n := range o.Counts {
		if n > 0 {
			s.Add((o.First+int64(i))*o.WidthNs, n)
		}
	}
}
