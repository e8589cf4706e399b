package verdict

import (
	"fmt"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// grows reports whether the slope is above a share and significant.
func grows(g metrics.Growth, share float64) bool {
	return g.Share > share && g.TrendP <= stats.MinTrendP
}

// The limits of a soak. They are this project's: a leak exceeds them in a long run, a
// heap at rest does not.
const (
	maxHeldGrowth     = 0.02 // of the median, over the time judged
	maxRSSGrowth      = 0.1  // likewise
	maxGoroutineShare = 0.05 // rise, of the most
	maxGoroutines     = 8    // likewise, where that share is fewer
	maxOpenFiles      = 4    // rise
	minCollections    = 5    // of garbage, as often is it known what is live
)

// soakFault says what grew during the soak; "" for nothing. Held memory grows when its
// slope over the time judged is above 2 % of the median and the Mann-Kendall test finds
// a trend at the level of 1 %: a slope alone may be noise, and a trend alone is found
// in any process that is observed long enough. The resident set includes garbage,
// fragmentation and pages that the runtime keeps, so it may grow by 10 %. Descriptors
// may rise by 4, and goroutines by 8 or 5 %.
//
// Of a foreign store's process only the resident set and the descriptors are known.
func soakFault(s metrics.Soak, foreign bool) string {
	switch {
	case s.Samples < metrics.MinSoakSamples:
		return fmt.Sprintf("%d samples, fewer than %d: the window is too short", s.Samples, metrics.MinSoakSamples)
	case foreign:
	case s.Collections < minCollections:
		return fmt.Sprintf("%d collections of garbage, fewer than %d: what is held is not known", s.Collections, minCollections)
	case grows(s.Held, maxHeldGrowth):
		return fmt.Sprintf("memory grows in %.0f s: held %s", s.LengthS, s.Held)
	}
	switch {
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
func checkSoak(run *judged) finding {
	var evidence []string
	for _, node := range run.Nodes {
		if node.Soak == nil {
			continue
		}
		if fault := soakFault(*node.Soak, node.Foreign()); fault != "" {
			return failed(node.Name, "%s in the soak: %s", node.Role, fault)
		}
		evidence = append(evidence, fmt.Sprintf("%s of %s held %s", node.Role, node.Name, node.Soak.Held))
	}
	if evidence == nil {
		return inapplicable("no -soak")
	}
	return passed("%s", strings.Join(evidence, "; "))
}
