package workload

import (
	"fmt"
	"math"
)

// Hotspot draws Config.HotOps of the operations from the first Config.HotKeys of the
// records.
const Hotspot = "hotspot"

// hotspot spreads a share of the operations evenly over the first ranks, and the rest
// evenly over the others.
type hotspot struct {
	n, hot uint64  // the number of ranks, and of hot ranks
	ops    float64 // the share of the operations on hot ranks
}

func checkHotspot(c Config) error {
	if !isShare(c.HotOps) {
		return fmt.Errorf("-hot-ops %v: want a share of the operations from 0 to 1, such as 0.8", c.HotOps)
	}
	if !isShare(c.HotKeys) || c.HotKeys == 0 {
		return fmt.Errorf("-hot-keys %v: want a share of the records above 0, up to 1, such as 0.2", c.HotKeys)
	}
	return nil
}

func hotspotFlags(c Config) string {
	return fmt.Sprintf(" -hot-ops %g -hot-keys %g", c.HotOps, c.HotKeys)
}

// newHotspot rounds the number of hot records to a whole number, at least one. If all
// records are hot, all operations are on hot records.
func newHotspot(c Config) distribution {
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
