package verdict

import "kvlab/metrics"

// SoakSamples are what a node's process held, sampled over a window of any
// length, in less than 10 kB: when there are many, neighbours become one. The
// zero value is empty. Not safe for concurrent use.
type SoakSamples struct {
	blocks []soakBlock // in the order of time; all but the last are of size samples
	size   int         // samples of a block, once there is one
}

// mostBlocks bounds the memory, and with it the slopes of each two blocks, of
// which there are 8128 at most.
const mostBlocks = 128

// soakBlock is one sample, or successive ones.
type soakBlock struct {
	samples     int
	startS      float64 // of the first
	endS        float64 // of the last
	rssBytes    float64 // their mean, as the next
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
		s.blocks[last] = s.blocks[last].join(one)
		return
	}
	if len(s.blocks) == mostBlocks {
		s.halve()
	}
	s.blocks = append(s.blocks, one)
}

// halve joins each two neighbours. All blocks are complete.
func (s *SoakSamples) halve() {
	s.size *= 2
	for i := range mostBlocks / 2 {
		s.blocks[i] = s.blocks[2*i].join(s.blocks[2*i+1])
	}
	s.blocks = s.blocks[:mostBlocks/2]
}

// join is b with what follows it.
func (b soakBlock) join(next soakBlock) soakBlock {
	all := b.samples + next.samples
	mean := func(before, after float64) float64 {
		return (before*float64(b.samples) + after*float64(next.samples)) / float64(all)
	}
	return soakBlock{
		samples: all, startS: b.startS, endS: next.endS,
		rssBytes:    mean(b.rssBytes, next.rssBytes),
		heldBytes:   mean(b.heldBytes, next.heldBytes),
		collections: b.collections + next.collections,
		goroutines:  joined(b.goroutines, next.goroutines),
		openFiles:   joined(b.openFiles, next.openFiles),
	}
}

// settled are the blocks that a soak is judged by.
func (s *SoakSamples) settled() []soakBlock { return s.blocks[(len(s.blocks)+9)/10:] }

// atS is the middle of the block's time.
func (b soakBlock) atS() float64 { return (b.startS + b.endS) / 2 }

// joined is the range of both.
func joined(r, s metrics.Range) metrics.Range {
	return metrics.Range{Min: min(r.Min, s.Min), Max: max(r.Max, s.Max)}
}
