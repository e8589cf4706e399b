package metrics

import (
	"fmt"
	"math"
)

// Soak is whether a node's process went on holding what it held, over a window
// without its beginning, in which heaps still grow to their size: its first tenth,
// and what comes before its second collection of garbage has ended.
type Soak struct {
	Samples         int     `json:"samples"`                // about one a second
	LengthS         float64 `json:"length_s"`               // the time that they cover
	RSSBytes        float64 `json:"rss_median_bytes"`       // resident set
	GrowthBytesPerH float64 `json:"rss_growth_bytes_per_h"` // the Theil-Sen slope; below 0 when it shrinks
	GrowthShare     float64 `json:"rss_growth_share"`       // that slope over LengthS, as a share of RSSBytes
	TrendP          float64 `json:"rss_trend_p"`            // of the Mann-Kendall test
	Collections     int     `json:"collections"`            // of garbage
	Goroutines      Level   `json:"goroutines"`
	OpenFiles       Level   `json:"open_files"`
}

// Level is how much there was of something that should stay as it is. For an
// instant there may be more, as when a timer of every connection runs out.
type Level struct {
	Range
	Rise int `json:"rise"` // the most by which the least in some tenth of the time is above that in an earlier one
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
	maxGrowth         = 0.02 // of the median, over the time judged
	maxGoroutineShare = 0.05 // rise, of the most
	maxGoroutines     = 8    // likewise, where that share is fewer
	maxOpenFiles      = 4    // rise
	minSoakSamples    = 12   // less is no time
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
	var at, rss []float64
	for _, b := range blocks {
		judged.Collections += b.collections
		at, rss = append(at, b.atS()), append(rss, b.rssBytes)
	}
	const secondsPerHour = 3600
	slope := TheilSen(at, rss)
	judged.RSSBytes = Median(rss)
	judged.GrowthBytesPerH = slope * secondsPerHour
	judged.GrowthShare = slope * judged.LengthS / max(judged.RSSBytes, 1)
	judged.TrendP = MannKendall(rss)
	return judged
}

// Fault says in words what is not as it was, "" when all is. Memory grows when
// its slope over the time judged is above 2 % of the median and the Mann-Kendall
// test finds a trend at the level of 1 %: a slope alone may be noise, and a
// trend alone is found in any process that is looked at for long enough. Descriptors
// may rise by 4, and goroutines by 8 or 5 %.
func (s Soak) Fault() string {
	switch {
	case s.Samples < minSoakSamples:
		return fmt.Sprintf("%d samples after the heap had settled, fewer than %d: the window is too short", s.Samples, minSoakSamples)
	case s.GrowthShare > maxGrowth && s.TrendP <= minTrendP:
		return fmt.Sprintf("memory grows by %.1f MB/h, %.1f %% in %.0f s (trend p %.2g, %d collections)", s.GrowthBytesPerH/1e6, 100*s.GrowthShare, s.LengthS, s.TrendP, s.Collections)
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
	return fmt.Sprintf("memory %.1f MB, %+.1f MB/h (%+.2f %% in %.0f s, trend p %.2g, %d collections); goroutines %s; descriptors %s",
		s.RSSBytes/1e6, s.GrowthBytesPerH/1e6, 100*s.GrowthShare, s.LengthS, s.TrendP, s.Collections,
		s.Goroutines, s.OpenFiles)
}
