package metrics

import (
	"fmt"
)

// Soak is whether a node's process went on holding what it held, over a window
// without its first tenth, in which buffers still grow to their size.
type Soak struct {
	Samples     int     `json:"samples"`     // about one a second
	LengthS     float64 `json:"length_s"`    // the time that they cover
	Held        Growth  `json:"held"`        // the resident set without garbage, see ProcessUsage
	RSS         Growth  `json:"rss"`         // the resident set
	Collections int     `json:"collections"` // of garbage
	Goroutines  Level   `json:"goroutines"`
	OpenFiles   Level   `json:"open_files"`
}

// Level is how much there was of something that should stay as it is. For an
// instant there may be more, as when a timer of every connection runs out.
type Level struct {
	Range
	Rise int `json:"rise"` // the most by which the least in some tenth of the time is above that in an earlier one
}

// Growth is how an amount of memory, sampled over time, went up or down.
type Growth struct {
	MedianBytes float64 `json:"median_bytes"`
	BytesPerH   float64 `json:"bytes_per_h"` // the Theil-Sen slope; below 0 when it shrinks
	Share       float64 `json:"share"`       // that slope over the time that was sampled, as a share of MedianBytes
	TrendP      float64 `json:"trend_p"`     // of the Mann-Kendall test
}

func (g Growth) String() string {
	return fmt.Sprintf("%.1f MB, %+.1f MB/h (%+.2f %%, trend p %.2g)", g.MedianBytes/1e6, g.BytesPerH/1e6, 100*g.Share, g.TrendP)
}

func (l Level) String() string { return fmt.Sprintf("%d to %d (rise %d)", l.Min, l.Max, l.Rise) }

// String says what was found, for people.
func (s Soak) String() string {
	if s.LengthS == 0 {
		return fmt.Sprintf("%d samples are too few: the window is too short", s.Samples)
	}
	return fmt.Sprintf("held %s; resident %s; goroutines %s; descriptors %s; %.0f s, %d collections",
		s.Held, s.RSS, s.Goroutines, s.OpenFiles, s.LengthS, s.Collections)
}

// Range is the lowest and the highest of some numbers.
type Range struct {
	Min int `json:"min"`
	Max int `json:"max"`
}
