package verdict

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"kvlab/metrics"
	"kvlab/metrics/account"
)

// soakOf samples once a second what of says.
func soakOf(seconds int, of func(second int) metrics.ProcessUsage) metrics.Soak {
	var s account.SoakSamples
	for i := range seconds {
		s.Add(metrics.Usage{StartS: 100 + float64(i), LengthS: 1, Process: of(i)})
	}
	return s.Soak()
}

// resting is a process at rest with a heap of 60 MB beside 240 MB of other memory:
// each has noise that remembers what it was; garbage comes at 1.5 MB/s, and is
// collected every 18 s, when live is found.
type resting struct {
	rng         *rand.Rand
	noise       float64
	found       float64 // bytes that the last collection found in use
	heap, other float64 // bytes per second that leak
}

func (r *resting) at(second int) metrics.ProcessUsage {
	r.noise = 0.9*r.noise + r.rng.NormFloat64()*0.3e6
	live := 60e6 + r.heap*float64(second)
	u := metrics.ProcessUsage{Goroutines: 140 + r.rng.IntN(5), OpenFiles: 75 + r.rng.IntN(2)}
	const every = 18
	if second%every == 0 {
		r.found, u.GCCycles = live+r.rng.NormFloat64()*0.2e6, 1
	}
	garbage := 1.5e6*float64(second%every) + live - r.found
	u.RSSBytes = uint64(240e6 + r.other*float64(second) + r.noise + r.found + garbage + 20e6)
	u.HeldBytes = u.RSSBytes - uint64(garbage) - 20e6
	return u
}

// Noise, and the rhythm of the collector, are no leak.
func TestSoakTakesNoiseForNoLeak(t *testing.T) {
	for seed := range uint64(40) {
		rest := &resting{rng: rand.New(rand.NewPCG(seed, 6))}
		for _, seconds := range []int{120, 1800} {
			if s := soakOf(seconds, rest.at); soakFault(s, false) != "" {
				t.Fatalf("seed %d, %d s: %s", seed, seconds, soakFault(s, false))
			}
		}
	}
}

// A leak of 0.1 MB/s is found in 30 minutes, and of 1 MB/s in 2, wherever it is.
func TestSoakFindsALeak(t *testing.T) {
	for _, test := range []struct {
		seconds int
		leak    float64 // bytes per second
	}{{1800, 0.1e6}, {1800, 1e6}, {120, 1e6}} {
		for seed := range uint64(40) {
			inHeap := &resting{rng: rand.New(rand.NewPCG(seed, 6)), heap: test.leak}
			outside := &resting{rng: rand.New(rand.NewPCG(seed, 6)), other: test.leak}
			for where, process := range map[string]*resting{"heap": inHeap, "elsewhere": outside} {
				s := soakOf(test.seconds, process.at)
				if !strings.HasPrefix(soakFault(s, false), "memory grows in ") || math.Abs(s.Held.BytesPerH-test.leak*3600) > 0.2*test.leak*3600 {
					t.Fatalf("seed %d, %.1f MB/s in the %s: %q, %+v", seed, test.leak/1e6, where, soakFault(s, false), s)
				}
			}
		}
	}
}

func TestSoakFaults(t *testing.T) {
	flat := metrics.ProcessUsage{RSSBytes: 1.5e8, HeldBytes: 1e8, Goroutines: 100, OpenFiles: 70, GCCycles: 1}
	with := func(change func(u *metrics.ProcessUsage, second int)) func(int) metrics.ProcessUsage {
		return func(second int) metrics.ProcessUsage {
			u := flat
			change(&u, second)
			return u
		}
	}
	for _, test := range []struct {
		name    string
		seconds int
		of      func(int) metrics.ProcessUsage
		want    string // beginning of the fault
	}{
		{"flat", 600, with(func(*metrics.ProcessUsage, int) {}), ""},
		{"shrinks", 600, with(func(u *metrics.ProcessUsage, s int) { u.HeldBytes -= uint64(s) * 1e5 }), ""},
		{"grows to its size at first", 600, with(func(u *metrics.ProcessUsage, s int) { u.HeldBytes -= uint64(max(0, 55-s)) * 1e6 }), ""},
		{"grows in steps", 600, with(func(u *metrics.ProcessUsage, s int) { u.HeldBytes += uint64(s/100) * 1e6 }), "memory grows in 536 s: held 103.0 MB, +35.0 MB/h (+5.06 %, "},
		{"grows by 1 %", 600, with(func(u *metrics.ProcessUsage, s int) { u.HeldBytes += uint64(s) * 1800 }), ""},
		{"has 9 % more that it does not hold", 600, with(func(u *metrics.ProcessUsage, s int) { u.RSSBytes += uint64(s) * 25e3 }), ""},
		{"has 15 % more that it does not hold", 600, with(func(u *metrics.ProcessUsage, s int) { u.RSSBytes += uint64(s) * 50e3 }), "memory grows in 536 s: resident 166.6 MB, +180.0 MB/h"},
		{"collects garbage 4 times", 600, with(func(u *metrics.ProcessUsage, s int) { u.GCCycles = map[bool]uint32{true: 1}[s%130 == 90] }), "4 collections of garbage, fewer than 5"},
		{"descriptors at first", 600, with(func(u *metrics.ProcessUsage, s int) { u.OpenFiles += max(0, 50-s) }), ""},
		{"4 descriptors more", 600, with(func(u *metrics.ProcessUsage, s int) { u.OpenFiles += s / 140 }), ""},
		{"5 descriptors more", 600, with(func(u *metrics.ProcessUsage, s int) { u.OpenFiles += s / 100 }), "open descriptors rise by 5, from 70 to 75"},
		{"8 goroutines more", 600, with(func(u *metrics.ProcessUsage, s int) { u.Goroutines += s / 400 * 8 }), ""},
		{"9 goroutines more", 600, with(func(u *metrics.ProcessUsage, s int) { u.Goroutines += s / 400 * 9 }), "goroutines rise by 9, from 100 to 109"},
		{"40 goroutines in one second of each minute", 600, with(func(u *metrics.ProcessUsage, s int) { u.Goroutines += s % 60 / 59 * 40 }), ""},
		{"all goroutines gone at the end", 600, with(func(u *metrics.ProcessUsage, s int) { u.Goroutines -= s / 599 * 90 }), ""},
		{"too short", 12, with(func(*metrics.ProcessUsage, int) {}), "10 samples, fewer than 12: the window is too short"},
	} {
		if got := soakFault(soakOf(test.seconds, test.of), false); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: fault %q, want %q", test.name, got, test.want)
		}
	}
}

// A soak in which one process does not go on holding what it held is not valid.
func TestJudgeSoak(t *testing.T) {
	run := goodRun()
	for i := range run.Nodes {
		run.Nodes[i].Soak = new(soakOf(600, (&resting{rng: rand.New(rand.NewPCG(1, 6))}).at))
	}
	if v := run.verdict(); !v.Valid {
		t.Errorf("verdict %s", v)
	}
	run.Nodes[1].Soak.OpenFiles.Rise = 60
	run.Ops, run.OpsPerS = 0, 0
	if v := run.verdict(); v.Node != "s1" || !strings.HasPrefix(v.Reason, "server in the soak: open descriptors rise by 60") {
		t.Errorf("verdict %s", v)
	}
}

// A foreign store's process tells of no garbage: its resident set and its descriptors decide.
func TestSoakOfAStore(t *testing.T) {
	for _, test := range []struct {
		name string
		of   func(second int) metrics.ProcessUsage
		want string
	}{
		{"flat", func(int) metrics.ProcessUsage {
			return metrics.ProcessUsage{RSSBytes: 1e8, HeldBytes: 1e8, OpenFiles: 70}
		}, ""},
		{"grows by a fifth", func(s int) metrics.ProcessUsage {
			held := 1e8 + uint64(s)*4e4
			return metrics.ProcessUsage{RSSBytes: held, HeldBytes: held, OpenFiles: 70}
		}, "memory grows in 536 s: resident 113.3 MB"},
		{"opens files", func(s int) metrics.ProcessUsage {
			return metrics.ProcessUsage{RSSBytes: 1e8, HeldBytes: 1e8, OpenFiles: s}
		}, "open descriptors rise by "},
	} {
		s := soakOf(600, test.of)
		if got := soakFault(s, true); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") || strings.Contains(s.String(), "goroutines") {
			t.Errorf("%s: fault %q, want %q; %s", test.name, got, test.want, s)
		}
	}
}
