package workload

import "math"

// distribution is a probability distribution over popularity ranks.
type distribution interface {
	// mass is the probability of the ranks from, from+1, ..., to-1.
	mass(from, to uint64) float64
	// cuts splits all ranks into segments inside which the mass of a rank is
	// constant or falls almost linearly: segment i is cuts[i], ..., cuts[i+1]-1.
	cuts() []uint64
}

// newLaw returns the law of a valid configuration.
func newLaw(c Config) distribution {
	switch c.distribution() {
	case Uniform, Sequential:
		return flat{c.Records}
	case Hotspot:
		return newHotspot(c)
	}
	if c.Zipfian == ZipfianExact {
		return newZipf(c.Records, c.Theta)
	}
	return newYCSBZipf(c.Records, c.Theta)
}

// flat gives each of n ranks the same mass.
type flat struct{ n uint64 }

func (f flat) mass(from, to uint64) float64 { return float64(to-from) / float64(f.n) }

func (f flat) cuts() []uint64 { return []uint64{0, f.n} }

// hotspot spreads a share of the operations evenly over the first ranks, and
// the rest evenly over the others.
type hotspot struct {
	n, hot uint64  // ranks, and how many of them are hot
	ops    float64 // share of the operations on hot ranks
}

// newHotspot rounds the hot records to a whole number, at least one. Where that
// leaves no cold record, every operation hits a hot one.
func newHotspot(c Config) hotspot {
	hot := max(1, uint64(math.Round(c.HotKeys*float64(c.Records))))
	if hot == c.Records {
		return hotspot{c.Records, hot, 1}
	}
	return hotspot{c.Records, hot, c.HotOps}
}

func (h hotspot) mass(from, to uint64) float64 {
	m := 0.0
	if from < h.hot {
		m += h.ops * float64(min(to, h.hot)-from) / float64(h.hot)
	}
	if to > h.hot {
		m += (1 - h.ops) * float64(to-max(from, h.hot)) / float64(h.n-h.hot)
	}
	return m
}

func (h hotspot) cuts() []uint64 {
	if h.hot == h.n {
		return []uint64{0, h.n}
	}
	return []uint64{0, h.hot, h.n}
}
