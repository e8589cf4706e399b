package verdict

import (
	"fmt"
	"math"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// growthOf is the growth of a quantity over blocks.
func growthOf(blocks []soakBlock, of func(soakBlock) float64) metrics.Growth {
	const secondsPerHour = 3600
	var at, bytes []float64
	for _, b := range blocks {
		at, bytes = append(at, b.atS()), append(bytes, of(b))
	}
	slope, median := stats.TheilSen(at, bytes), stats.Median(bytes)
	lengthS := blocks[len(blocks)-1].endS - blocks[0].startS
	return metrics.Growth{
		MedianBytes: median, BytesPerH: slope * secondsPerHour,
		Share: slope * lengthS / max(median, 1), TrendP: stats.MannKendall(bytes),
	}
}

// grows reports whether the slope is above a share and significant.
func grows(g metrics.Growth, share float64) bool {
	return g.Share > share && g.TrendP <= stats.MinTrendP
}

// levelOf is the level of a quantity over blocks.
func levelOf(blocks []soakBlock, of func(soakBlock) metrics.Range) metrics.Level {
	level := metrics.Level{Range: of(blocks[0])}
	least := math.MaxInt
	for tenth := range 10 {
		part := blocks[tenth*len(blocks)/10 : (tenth+1)*len(blocks)/10]
		low := math.MaxInt
		for _, b := range part {
			level.Range = joined(level.Range, of(b))
			low = min(low, of(b).Min)
		}
		least = min(least, low)
		level.Rise = max(level.Rise, low-least)
	}
	return level
}

// The limits of a soak. They are this project's: a leak exceeds them in a long run, a
// heap at rest does not.
const (
	maxHeldGrowth     = 0.02 // of the median, over the time judged
	maxRSSGrowth      = 0.1  // likewise
	maxGoroutineShare = 0.05 // rise, of the most
	maxGoroutines     = 8    // likewise, where that share is fewer
	maxOpenFiles      = 4    // rise
	minSoakSamples    = 12   // less is no time
	minCollections    = 5    // of garbage, as often is it known what is live
)

// Soak summarizes the samples. With fewer than 12, only their number is set.
func (s *SoakSamples) Soak() metrics.Soak {
	var judged metrics.Soak
	blocks := s.settled()
	for _, b := range blocks {
		judged.Samples += b.samples
	}
	if judged.Samples < minSoakSamples {
		return judged
	}
	judged.LengthS = blocks[len(blocks)-1].endS - blocks[0].startS
	judged.Goroutines = levelOf(blocks, func(b soakBlock) metrics.Range { return b.goroutines })
	judged.OpenFiles = levelOf(blocks, func(b soakBlock) metrics.Range { return b.openFiles })
	judged.Held = growthOf(blocks, func(b soakBlock) float64 { return b.heldBytes })
	judged.RSS = growthOf(blocks, func(b soakBlock) float64 { return b.rssBytes })
	for _, b := range blocks {
		judged.Collections += b.collections
	}
	return judged
}

// SoakFault says what grew during the soak; "" for nothing. Held memory grows when its
// slope over the time judged is above 2 % of the median and the Mann-Kendall test finds
// a trend at the level of 1 %: a slope alone may be noise, and a trend alone is found
// in any process that is observed long enough. The resident set includes garbage,
// fragmentation and pages that the runtime keeps, so it may grow by 10 %. Descriptors
// may rise by 4, and goroutines by 8 or 5 %.
func SoakFault(s metrics.Soak) string {
	switch {
	case s.Samples < minSoakSamples:
		return fmt.Sprintf("%d samples, fewer than %d: the window is too short", s.Samples, minSoakSamples)
	case s.Collections < minCollections:
		return fmt.Sprintf("%d collections of garbage, fewer than %d: what is held is not known", s.Collections, minCollections)
	case grows(s.Held, maxHeldGrowth):
		return fmt.Sprintf("memory grows in %.0f s: held %s", s.LengthS, s.Held)
	case grows(s.RSS, maxRSSGrowth):
		return fmt.Sprintf("memory grows in %.0f s: resident %s", s.LengthS, s.RSS)
	case s.OpenFiles.Rise > maxOpenFiles:
		return fmt.Sprintf("open descriptors rise by %d, from %d to %d", s.OpenFiles.Rise, s.OpenFiles.Min, s.OpenFiles.Max)
	case s.Goroutines.Rise > max(maxGoroutines, int(maxGoroutineShare*float64(s.Goroutines.Max))):
		return fmt.Sprintf("goroutines rise by %d, from %d to %d", s.Goroutines.Rise, s.Goroutines.Min, s.Goroutines.Max)
	}
	return ""
}

// checkSoak: in a soak, no process grew.
func checkSoak(run judged) metrics.Verdict {
	for _, node := range run.Nodes {
		if node.Soak == nil {
			continue
		}
		if fault := SoakFault(*node.Soak); fault != "" {
			return invalid(node.Name, "%s in the soak: %s", node.Role, fault)
		}
	}
	return valid
}
