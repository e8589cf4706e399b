package metrics

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestTheilSen(t *testing.T) {
	xs := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	ys := make([]float64, len(xs))
	for i, x := range xs {
		ys[i] = 5 - 2*x
	}
	if got := TheilSen(xs, ys); got != -2 {
		t.Errorf("slope %v of a line, want -2", got)
	}
	ys[0], ys[9] = 1e9, -1e9 // 2 of 10 are below the breakdown point
	if got := TheilSen(xs, ys); got != -2 {
		t.Errorf("slope %v with two outliers, want -2", got)
	}
	// The six slopes are 1, 2, 7/3, 3, 3, 3.
	if got := TheilSen([]float64{0, 1, 2, 3}, []float64{0, 1, 4, 7}); math.Abs(got-8.0/3) > 1e-12 {
		t.Errorf("slope %v, want 8/3", got)
	}
	if got := TheilSen([]float64{1, 1}, []float64{2, 3}); !math.IsNaN(got) {
		t.Errorf("slope %v of points above each other, want NaN", got)
	}
}

// soakOf samples once a second what of says.
func soakOf(seconds int, of func(second int) ProcessUsage) Soak {
	var s SoakSamples
	for i := range seconds {
		s.Add(Usage{StartS: 100 + float64(i), LengthS: 1, Process: of(i)})
	}
	return s.Soak()
}

// noisy is a process at rest: 300 MB with noise that remembers what it was, as
// the resident set does.
func noisy(rng *rand.Rand) func(int) ProcessUsage {
	noise := 0.0
	return func(int) ProcessUsage {
		noise = 0.9*noise + rng.NormFloat64()*0.5e6
		return ProcessUsage{RSSBytes: uint64(300e6 + noise), Goroutines: 140 + rng.IntN(5), OpenFiles: 75 + rng.IntN(2)}
	}
}

func TestSoakTakesNoiseForNoLeak(t *testing.T) {
	for seed := range uint64(40) {
		rest := noisy(rand.New(rand.NewPCG(seed, 6)))
		for _, seconds := range []int{60, 1800} {
			if s := soakOf(seconds, rest); s.Fault() != "" {
				t.Fatalf("seed %d, %d s: %s", seed, seconds, s.Fault())
			}
		}
	}
}

func TestSoakFindsALeak(t *testing.T) {
	const perHour = 40e6 // 18 MB or 6 % in the 27 minutes that are judged
	for seed := range uint64(40) {
		rest := noisy(rand.New(rand.NewPCG(seed, 6)))
		s := soakOf(1800, func(second int) ProcessUsage {
			u := rest(second)
			u.RSSBytes += uint64(perHour / 3600 * float64(second))
			return u
		})
		if !strings.HasPrefix(s.Fault(), "memory grows by ") || math.Abs(s.GrowthBytesPerH-perHour) > 0.2*perHour {
			t.Fatalf("seed %d: %q, %+v", seed, s.Fault(), s)
		}
	}
}

func TestSoakFaults(t *testing.T) {
	flat := ProcessUsage{RSSBytes: 1e8, Goroutines: 100, OpenFiles: 70}
	with := func(change func(u *ProcessUsage, second int)) func(int) ProcessUsage {
		return func(second int) ProcessUsage {
			u := flat
			change(&u, second)
			return u
		}
	}
	for _, test := range []struct {
		name    string
		seconds int
		of      func(int) ProcessUsage
		want    string // beginning of the fault
	}{
		{"flat", 600, with(func(*ProcessUsage, int) {}), ""},
		{"shrinks", 600, with(func(u *ProcessUsage, s int) { u.RSSBytes -= uint64(s) * 1e5 }), ""},
		{"grows to its size at first", 600, with(func(u *ProcessUsage, s int) { u.RSSBytes -= uint64(max(0, 55-s)) * 1e6 }), ""},
		{"grows in steps", 600, with(func(u *ProcessUsage, s int) { u.RSSBytes += uint64(s/100) * 1e6 }), "memory grows by 35.0 MB/h, 5.1 % in 536 s"},
		{"grows until the second collection", 600, with(func(u *ProcessUsage, s int) {
			u.RSSBytes += uint64(min(s, 400)) * 1e6
			u.GCCycles = map[int]uint32{150: 1, 400: 1}[s]
		}), ""},
		{"has one collection and grows", 600, with(func(u *ProcessUsage, s int) {
			u.RSSBytes += uint64(min(s, 400)) * 1e6
			u.GCCycles = map[int]uint32{150: 1}[s]
		}), "memory grows by "},
		{"has its second collection at the end", 100, with(func(u *ProcessUsage, s int) { u.GCCycles = map[int]uint32{50: 1, 92: 1}[s] }), "7 samples after the heap had settled"},
		{"grows by 1 %", 600, with(func(u *ProcessUsage, s int) { u.RSSBytes += uint64(s) * 1800 }), ""},
		{"descriptors at first", 600, with(func(u *ProcessUsage, s int) { u.OpenFiles += max(0, 50-s) }), ""},
		{"4 descriptors more", 600, with(func(u *ProcessUsage, s int) { u.OpenFiles += s / 140 }), ""},
		{"5 descriptors more", 600, with(func(u *ProcessUsage, s int) { u.OpenFiles += s / 100 }), "open descriptors rise by 5, from 70 to 75"},
		{"8 goroutines more", 600, with(func(u *ProcessUsage, s int) { u.Goroutines += s / 400 * 8 }), ""},
		{"9 goroutines more", 600, with(func(u *ProcessUsage, s int) { u.Goroutines += s / 400 * 9 }), "goroutines rise by 9, from 100 to 109"},
		{"40 goroutines in one second of each minute", 600, with(func(u *ProcessUsage, s int) { u.Goroutines += s % 60 / 59 * 40 }), ""},
		{"all goroutines gone at the end", 600, with(func(u *ProcessUsage, s int) { u.Goroutines -= s / 599 * 90 }), ""},
		{"too short", 12, with(func(*ProcessUsage, int) {}), "10 samples after the heap had settled, fewer than 12"},
	} {
		if got := soakOf(test.seconds, test.of).Fault(); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: fault %q, want %q", test.name, got, test.want)
		}
	}
}

// TestSoakSamplesOfADay samples a day: memory stays bounded, and the line that
// goes in comes out.
func TestSoakSamplesOfADay(t *testing.T) {
	const day = 86400
	var s SoakSamples
	for i := range day {
		s.Add(Usage{StartS: float64(i), LengthS: 1, Process: ProcessUsage{RSSBytes: 1e9 + 100*uint64(i), Goroutines: i, OpenFiles: day - i}})
		if len(s.blocks) > mostBlocks || cap(s.blocks) > 2*mostBlocks {
			t.Fatalf("%d blocks after %d samples", len(s.blocks), i+1)
		}
	}
	got := s.Soak()
	if math.Abs(got.GrowthBytesPerH-360e3) > 1 || got.Goroutines.Max != day-1 || got.OpenFiles.Min != 1 || got.Goroutines.Min > day/9 {
		t.Errorf("%+v", got)
	}
	if got.Samples != got.Goroutines.Max-got.Goroutines.Min+1 || float64(got.Samples) != got.LengthS || got.LengthS < 0.88*day {
		t.Errorf("%d samples over %v s of a day", got.Samples, got.LengthS)
	}
}
