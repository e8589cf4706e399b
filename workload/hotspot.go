package workload

import (
	"cmp"
	"fmt"
	"math"

	"kvlab/internal/cli"
)

// hotspot spreads a share of the operations evenly over the first ranks, and the rest
// evenly over the others.
type hotspot struct {
	n, hot uint64  // the number of ranks, and of hot ranks
	ops    float64 // the share of the operations on hot ranks
}

func hotspotFlags(c Config) string {
	return fmt.Sprintf(" -hot-ops %g -hot-keys %g", c.HotOps, c.HotKeys)
}

// newHotspot rounds the number of hot records to a whole number, at least one. If all
// records are hot, all operations are on hot records.
func newHotspot(c Config) (distribution, error) {
	if err := cmp.Or(
		cli.Want(isShare(c.HotOps), "-hot-ops", c.HotOps, "a share of the operations from 0 to 1, such as 0.8"),
		cli.Want(isShare(c.HotKeys) && c.HotKeys > 0, "-hot-keys", c.HotKeys, "a share of the records above 0, up to 1, such as 0.2"),
	); err != nil {
		return nil, err
	}
	hot := max(1, uint64(math.Round(c.HotKeys*float64(c.Records))))
	if hot == c.Records {
		return flat{c.Records}, nil
	}
	return hotspot{c.Records, hot, c.HotOps}, nil
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

func (h hotspot) cuts() []uint64 { return []uint64{0, h.hot, h.n} }
