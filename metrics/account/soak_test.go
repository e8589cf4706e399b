package account

import (
	"math"
	"testing"

	"kvlab/metrics"
)

// Over a day memory stays bounded, and the slope of a straight line is found.
func TestSoakSamplesOfADay(t *testing.T) {
	const day = 86400
	var s SoakSamples
	for i := range day {
		s.Add(metrics.Usage{StartS: float64(i), LengthS: 1, Process: metrics.ProcessUsage{HeldBytes: 1e9 + 100*uint64(i), Goroutines: i, OpenFiles: day - i}})
		if len(s.blocks) > mostBlocks || cap(s.blocks) > 2*mostBlocks {
			t.Fatalf("%d blocks after %d samples", len(s.blocks), i+1)
		}
	}
	got := s.Soak()
	if math.Abs(got.Held.BytesPerH-360e3) > 1 || got.Goroutines.Max != day-1 || got.OpenFiles.Min != 1 || got.Goroutines.Min > day/9 {
		t.Errorf("%+v", got)
	}
	if got.Samples != got.Goroutines.Max-got.Goroutines.Min+1 || float64(got.Samples) != got.LengthS || got.LengthS < 0.88*day {
		t.Errorf("%d samples over %v s of a day", got.Samples, got.LengthS)
	}
}
