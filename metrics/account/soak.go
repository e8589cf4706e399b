package account

import (
	"math"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

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
	goroutines  metrics.Range
	openFiles   metrics.Range
}

// Add adds the next sample.
func (s *SoakSamples) Add(u metrics.Usage) {
	s.size = max(s.size, 1)
	one := soakBlock{
		samples: 1, startS: u.StartS, endS: u.StartS + u.LengthS, rssBytes: float64(u.Process.RSSBytes), heldBytes: float64(u.Process.HeldBytes),
		collections: int(u.Process.GCCycles),
		goroutines:  metrics.Range{Min: u.Process.Goroutines, Max: u.Process.Goroutines},
		openFiles:   metrics.Range{Min: u.Process.OpenFiles, Max: u.Process.OpenFiles},
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
	b.goroutines.Join(next.goroutines)
	b.openFiles.Join(next.openFiles)
}

// Soak summarizes the samples without their first tenth. With fewer than MinSoakSamples,
// only their number is set.
func (s *SoakSamples) Soak() metrics.Soak {
	var judged metrics.Soak
	blocks := s.blocks[(len(s.blocks)+9)/10:]
	for _, b := range blocks {
		judged.Samples += b.samples
		judged.Collections += b.collections
	}
	if judged.Samples < metrics.MinSoakSamples {
		return metrics.Soak{Samples: judged.Samples}
	}
	judged.LengthS = blocks[len(blocks)-1].endS - blocks[0].startS
	judged.Goroutines = levelOf(blocks, func(b soakBlock) metrics.Range { return b.goroutines })
	judged.OpenFiles = levelOf(blocks, func(b soakBlock) metrics.Range { return b.openFiles })
	judged.Held = growthOf(blocks, judged.LengthS, func(b soakBlock) float64 { return b.heldBytes })
	judged.RSS = growthOf(blocks, judged.LengthS, func(b soakBlock) float64 { return b.rssBytes })
	return judged
}

// growthOf returns the growth of a quantity over blocks.
func growthOf(blocks []soakBlock, lengthS float64, of func(soakBlock) float64) metrics.Growth {
	const secondsPerHour = 3600
	var at, bytes []float64
	for _, b := range blocks {
		at, bytes = append(at, (b.startS+b.endS)/2), append(bytes, of(b)/float64(b.samples))
	}
	slope, median := stats.TheilSen(at, bytes), stats.Median(bytes)
	return metrics.Growth{
		MedianBytes: median, BytesPerH: slope * secondsPerHour,
		Share: slope * lengthS / max(median, 1), TrendP: stats.MannKendall(bytes),
	}
}

// levelOf returns the level of a quantity over blocks.
func levelOf(blocks []soakBlock, of func(soakBlock) metrics.Range) metrics.Level {
	level := metrics.Level{Range: of(blocks[0])}
	least := math.MaxInt
	for tenth := range 10 {
		low := math.MaxInt
		for _, b := range blocks[tenth*len(blocks)/10 : (tenth+1)*len(blocks)/10] {
			level.Join(of(b))
			low = min(low, of(b).Min)
		}
		least = min(least, low)
		level.Rise = max(level.Rise, low-least)
	}
	return level
}
