package metrics

import (
	"fmt"
	"math"

	"kvlab/metrics/stats"
)

// Soak is how much a node's process held over a window. The first tenth of the window is
// left out, because buffers still grow in it.
type Soak struct {
	Samples     int     `json:"samples"`     // about one a second
	LengthS     float64 `json:"length_s"`    // the time that they cover
	Held        Growth  `json:"held"`        // the resident set without garbage, see ProcessUsage
	RSS         Growth  `json:"rss"`         // the resident set
	Collections int     `json:"collections"` // of garbage
	Goroutines  Level   `json:"goroutines"`
	OpenFiles   Level   `json:"open_files"`
}

// Level is a number that should stay constant. It may be higher for an instant, as when a
// timer of every connection fires.
type Level struct {
	Range
	Rise int `json:"rise"` // the largest increase of the minimum of a tenth of the time over that of an earlier tenth
}

// Growth is the trend of an amount of memory over time.
type Growth struct {
	MedianBytes float64 `json:"median_bytes"`
	BytesPerH   float64 `json:"bytes_per_h"` // the Theil-Sen slope; below 0 when it shrinks
	Share       float64 `json:"share"`       // the slope times the sampled time, as a share of MedianBytes
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
	if s.Goroutines.Max == 0 { // a foreign store's process
		return fmt.Sprintf("resident %s; descriptors %s; %.0f s", s.RSS, s.OpenFiles, s.LengthS)
	}
	return fmt.Sprintf("held %s; resident %s; goroutines %s; descriptors %s; %.0f s, %d collections",
		s.Held, s.RSS, s.Goroutines, s.OpenFiles, s.LengthS, s.Collections)
}

// Range is the lowest and the highest of some numbers.
type Range struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// MinSoakSamples is the smallest number of samples that a soak is judged by.
const MinSoakSamples = 12

// SoakSamples are samples of what a node's process holds over a window of any length. They
// take less than 10 kB: when there are many samples, neighbours are joined. The zero value
// is empty. Not safe for concurrent use.
type SoakSamples struct {
	blocks []soakBlock // in the order of time; all but the last are of size samples
	size   int         // samples of a block, once there is one
}

// mostBlocks bounds the memory, and the number of pairs of blocks for a slope to 8128.
const mostBlocks = 128

// soakBlock is one sample, or successive ones joined.
type soakBlock struct {
	samples     int
	startS      float64 // of the first
	endS        float64 // of the last
	rssBytes    float64 // their sum, as the next two
	heldBytes   float64
	collections int // of garbage that ended meanwhile
	goroutines  Range
	openFiles   Range
}

// Add adds the next sample.
func (s *SoakSamples) Add(u Usage) {
	s.size = max(s.size, 1)
	one := soakBlock{
		samples: 1, startS: u.StartS, endS: u.StartS + u.LengthS, rssBytes: float64(u.Process.RSSBytes), heldBytes: float64(u.Process.HeldBytes),
		collections: int(u.Process.GCCycles),
		goroutines:  Range{Min: u.Process.Goroutines, Max: u.Process.Goroutines},
		openFiles:   Range{Min: u.Process.OpenFiles, Max: u.Process.OpenFiles},
	}
	last := len(s.blocks) - 1
	if last >= 0 && s.blocks[last].samples < s.size {
		s.blocks[last].join(one)
		return
	}
	if len(s.blocks) == mostBlocks {
		s.halve()
	}
	s.blocks = append(s.blocks, one)
}

// halve joins each two neighbours. All blocks have size samples.
func (s *SoakSamples) halve() {
	s.size *= 2
	for i := range mostBlocks / 2 {
		s.blocks[2*i].join(s.blocks[2*i+1])
		s.blocks[i] = s.blocks[2*i]
	}
	s.blocks = s.blocks[:mostBlocks/2]
}

// join adds the samples that follow.
func (b *soakBlock) join(next soakBlock) {
	b.samples += next.samples
	b.endS = next.endS
	b.rssBytes += next.rssBytes
	b.heldBytes += next.heldBytes
	b.collections += next.collections
	b.goroutines.join(next.goroutines)
	b.openFiles.join(next.openFiles)
}

// join widens the range by another.
func (r *Range) join(s Range) { r.Min, r.Max = min(r.Min, s.Min), max(r.Max, s.Max) }

// Soak summarizes the samples without their first tenth. With fewer than MinSoakSamples,
// only their number is set.
func (s *SoakSamples) Soak() Soak {
	var judged Soak
	blocks := s.blocks[(len(s.blocks)+9)/10:]
	for _, b := range blocks {
		judged.Samples += b.samples
		judged.Collections += b.collections
	}
	if judged.Samples < MinSoakSamples {
		return Soak{Samples: judged.Samples}
	}
	judged.LengthS = blocks[len(blocks)-1].endS - blocks[0].startS
	judged.Goroutines = levelOf(blocks, func(b soakBlock) Range { return b.goroutines })
	judged.OpenFiles = levelOf(blocks, func(b soakBlock) Range { return b.openFiles })
	judged.Held = growthOf(blocks, judged.LengthS, func(b soakBlock) float64 { return b.heldBytes })
	judged.RSS = growthOf(blocks, judged.LengthS, func(b soakBlock) float64 { return b.rssBytes })
	return judged
}

// growthOf is the growth of a quantity over blocks.
func growthOf(blocks []soakBlock, lengthS float64, of func(soakBlock) float64) Growth {
	const secondsPerHour = 3600
	var at, bytes []float64
	for _, b := range blocks {
		at, bytes = append(at, (b.startS+b.endS)/2), append(bytes, of(b)/float64(b.samples))
	}
	slope, median := stats.TheilSen(at, bytes), stats.Median(bytes)
	return Growth{
		MedianBytes: median, BytesPerH: slope * secondsPerHour,
		Share: slope * lengthS / max(median, 1), TrendP: stats.MannKendall(bytes),
	}
}

// levelOf is the level of a quantity over blocks.
func levelOf(blocks []soakBlock, of func(soakBlock) Range) Level {
	level := Level{Range: of(blocks[0])}
	least := math.MaxInt
	for tenth := range 10 {
		low := math.MaxInt
		for _, b := range blocks[tenth*len(blocks)/10 : (tenth+1)*len(blocks)/10] {
			level.join(of(b))
			low = min(low, of(b).Min)
		}
		least = min(least, low)
		level.Rise = max(level.Rise, low-least)
	}
	return level
}
