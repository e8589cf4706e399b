package metrics

import "fmt"

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
	Goroutines      Range   `json:"goroutines"`
	OpenFiles       Range   `json:"open_files"`
}

// The limits of the judgement. They are those of this project: what a leak passes
// in a long run and a heap at rest does not.
const (
	maxGrowth         = 0.02 // of the median, over the time judged
	maxGoroutineShare = 0.05 // from the fewest to the most, of the most
	maxGoroutines     = 8    // likewise, where that share is fewer
	maxOpenFiles      = 4    // from the fewest to the most: /proc and the like, open for an instant
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
	judged.Goroutines, judged.OpenFiles = blocks[0].goroutines, blocks[0].openFiles
	var at, rss []float64
	for _, b := range blocks {
		judged.Collections += b.collections
		judged.Goroutines = judged.Goroutines.join(b.goroutines)
		judged.OpenFiles = judged.OpenFiles.join(b.openFiles)
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
// trend alone is found in any process that is looked at for long enough. From the
// fewest to the most there may be 4 descriptors, and 8 goroutines or 5 %.
func (s Soak) Fault() string {
	switch {
	case s.Samples < minSoakSamples:
		return fmt.Sprintf("%d samples after the heap had settled, fewer than %d: the window is too short", s.Samples, minSoakSamples)
	case s.GrowthShare > maxGrowth && s.TrendP <= minTrendP:
		return fmt.Sprintf("memory grows by %.1f MB/h, %.1f %% in %.0f s (trend p %.2g, %d collections)", s.GrowthBytesPerH/1e6, 100*s.GrowthShare, s.LengthS, s.TrendP, s.Collections)
	case s.OpenFiles.Width() > maxOpenFiles:
		return fmt.Sprintf("open descriptors from %d to %d, not constant", s.OpenFiles.Min, s.OpenFiles.Max)
	case s.Goroutines.Width() > max(maxGoroutines, int(maxGoroutineShare*float64(s.Goroutines.Max))):
		return fmt.Sprintf("goroutines from %d to %d, not constant", s.Goroutines.Min, s.Goroutines.Max)
	}
	return ""
}

// String says what was found, for people.
func (s Soak) String() string {
	if s.Samples < minSoakSamples {
		return s.Fault()
	}
	return fmt.Sprintf("memory %.1f MB, %+.1f MB/h (%+.2f %% in %.0f s, trend p %.2g, %d collections); goroutines %d to %d; descriptors %d to %d",
		s.RSSBytes/1e6, s.GrowthBytesPerH/1e6, 100*s.GrowthShare, s.LengthS, s.TrendP, s.Collections,
		s.Goroutines.Min, s.Goroutines.Max, s.OpenFiles.Min, s.OpenFiles.Max)
}
