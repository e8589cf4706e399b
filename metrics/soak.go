package metrics

import (
	"fmt"
	"math"

	"kvlab/metrics/stats"
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

// growthOf is the growth over blocks, of what of says.
func growthOf(blocks []soakBlock, of func(soakBlock) float64) Growth {
	const secondsPerHour = 3600
	var at, bytes []float64
	for _, b := range blocks {
		at, bytes = append(at, b.atS()), append(bytes, of(b))
	}
	slope, median := stats.TheilSen(at, bytes), stats.Median(bytes)
	lengthS := blocks[len(blocks)-1].endS - blocks[0].startS
	return Growth{
		MedianBytes: median, BytesPerH: slope * secondsPerHour,
		Share: slope * lengthS / max(median, 1), TrendP: stats.MannKendall(bytes),
	}
}

// exceeds says whether the slope is above a share, and no chance.
func (g Growth) exceeds(share float64) bool { return g.Share > share && g.TrendP <= stats.MinTrendP }

func (g Growth) String() string {
	return fmt.Sprintf("%.1f MB, %+.1f MB/h (%+.2f %%, trend p %.2g)", g.MedianBytes/1e6, g.BytesPerH/1e6, 100*g.Share, g.TrendP)
}

// levelOf is the level over blocks, of what of says.
func levelOf(blocks []soakBlock, of func(soakBlock) Range) Level {
	level := Level{Range: of(blocks[0])}
	least := math.MaxInt
	for tenth := range 10 {
		part := blocks[tenth*len(blocks)/10 : (tenth+1)*len(blocks)/10]
		low := math.MaxInt
		for _, b := range part {
			level.Range = level.Range.join(of(b))
			low = min(low, of(b).Min)
		}
		least = min(least, low)
		level.Rise = max(level.Rise, low-least)
	}
	return level
}

func (l Level) String() string { return fmt.Sprintf("%d to %d (rise %d)", l.Min, l.Max, l.Rise) }

// The limits of the judgement. They are those of this project: what a leak passes
// in a long run and a heap at rest does not.
const (
	maxHeldGrowth     = 0.02 // of the median, over the time judged
	maxRSSGrowth      = 0.1  // likewise
	maxGoroutineShare = 0.05 // rise, of the most
	maxGoroutines     = 8    // likewise, where that share is fewer
	maxOpenFiles      = 4    // rise
	minSoakSamples    = 12   // less is no time
	minCollections    = 5    // of garbage, as often is it known what is live
)

// Soak sums the samples so far up. With fewer than 12 to judge, only their number
// is set.
func (s *SoakSamples) Soak() Soak {
	var judged Soak
	blocks := s.settled()
	for _, b := range blocks {
		judged.Samples += b.samples
	}
	if judged.Samples < minSoakSamples {
		return judged
	}
	judged.LengthS = blocks[len(blocks)-1].endS - blocks[0].startS
	judged.Goroutines = levelOf(blocks, func(b soakBlock) Range { return b.goroutines })
	judged.OpenFiles = levelOf(blocks, func(b soakBlock) Range { return b.openFiles })
	judged.Held = growthOf(blocks, func(b soakBlock) float64 { return b.heldBytes })
	judged.RSS = growthOf(blocks, func(b soakBlock) float64 { return b.rssBytes })
	for _, b := range blocks {
		judged.Collections += b.collections
	}
	return judged
}

// Fault says in words what is not as it was, "" when all is. What is held grows
// when its slope over the time judged is above 2 % of the median and the Mann-Kendall
// test finds a trend at the level of 1 %: a slope alone may be noise, and a trend
// alone is found in any process that is looked at for long enough. The resident set
// has garbage in it, and pages that the runtime keeps: it may grow by 10 %, for
// which what fragments a heap is enough too. Descriptors may rise by 4, and
// goroutines by 8 or 5 %.
func (s Soak) Fault() string {
	switch {
	case s.Samples < minSoakSamples:
		return fmt.Sprintf("%d samples, fewer than %d: the window is too short", s.Samples, minSoakSamples)
	case s.Collections < minCollections:
		return fmt.Sprintf("%d collections of garbage, fewer than %d: what is held is not known", s.Collections, minCollections)
	case s.Held.exceeds(maxHeldGrowth):
		return fmt.Sprintf("memory grows in %.0f s: held %s", s.LengthS, s.Held)
	case s.RSS.exceeds(maxRSSGrowth):
		return fmt.Sprintf("memory grows in %.0f s: resident %s", s.LengthS, s.RSS)
	case s.OpenFiles.Rise > maxOpenFiles:
		return fmt.Sprintf("open descriptors rise by %d, from %d to %d", s.OpenFiles.Rise, s.OpenFiles.Min, s.OpenFiles.Max)
	case s.Goroutines.Rise > max(maxGoroutines, int(maxGoroutineShare*float64(s.Goroutines.Max))):
		return fmt.Sprintf("goroutines rise by %d, from %d to %d", s.Goroutines.Rise, s.Goroutines.Min, s.Goroutines.Max)
	}
	return ""
}

// String says what was found, for people.
func (s Soak) String() string {
	if s.Samples < minSoakSamples {
		return s.Fault()
	}
	return fmt.Sprintf("held %s; resident %s; goroutines %s; descriptors %s; %.0f s, %d collections",
		s.Held, s.RSS, s.Goroutines, s.OpenFiles, s.LengthS, s.Collections)
}
