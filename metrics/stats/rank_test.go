package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// classAlpha and classLooks are those of a graded class, extra/grade.
const classAlpha = 0.02

var classLooks = []int{6, 10, 16, 24}

// evening is a simulated class of entries, some of them equal.
type evening struct {
	name      string
	noise     float64 // of a run, as a standard deviation of the logarithm
	noisy     float64 // of entry 0 instead; 0: as the others
	round     float64 // of a round, common to its runs
	within    float64 // drift from the first run of a round to its last
	disturbed float64 // share of the runs that are slower by 5 to 15 %
}

var evenings = []evening{
	{name: "1%", noise: 0.01},
	{name: "2%", noise: 0.02},
	{name: "4%", noise: 0.04},
	{name: "noisy entry", noise: 0.01, noisy: 0.04},
	{name: "drift", noise: 0.01, round: 0.03, within: 0.02},
	{name: "disturbed", noise: 0.01, disturbed: 0.05},
}

// truth returns the logarithm of an entry's true rate: three entries each are equal, and the
// groups differ by 2, 3, 4 ... %.
func truth(entry int) float64 {
	group := float64(entry / 3)
	return -(group*0.02 + group*(group-1)/2*0.01)
}

// values returns the rates of all entries in a number of rounds.
func (e evening) values(entries, rounds int, random *rand.Rand) [][]float64 {
	values := make([][]float64, entries)
	for range rounds {
		common := e.round * random.NormFloat64()
		for place, i := range random.Perm(entries) {
			noise := e.noise
			if i == 0 && e.noisy > 0 {
				noise = e.noisy
			}
			rate := math.Exp(truth(i) + common + noise*random.NormFloat64() - e.within*float64(place)/float64(entries))
			if random.Float64() < e.disturbed {
				rate *= 1 - (0.05 + 0.1*random.Float64())
			}
			values[i] = append(values[i], rate)
		}
	}
	return values
}

// outcome is what a simulated evening ends with.
type outcome struct {
	wrong, split bool // at any look: a pair in the wrong order, equal entries apart
	rounds       int
	told         float64 // share of the unequal pairs that are apart in the end
}

func (e evening) run(entries int, random *rand.Rand) (o outcome) {
	values := e.values(entries, classLooks[len(classLooks)-1], random)
	for _, o.rounds = range classLooks {
		so := make([][]float64, entries)
		for i := range so {
			so[i] = values[i][:o.rounds]
		}
		pairs := Pairs(so, nil, classAlpha/float64(len(classLooks)), 0.02)
		unequal, told := 0, 0
		for _, p := range pairs {
			difference := truth(p.A) - truth(p.B)
			switch {
			case difference == 0:
				o.split = o.split || p.Apart
			case p.Apart:
				told++
				o.wrong = o.wrong || p.Mean*difference < 0
			}
			if difference != 0 {
				unequal++
			}
		}
		o.told = float64(told) / float64(unequal)
		if Settled(pairs) {
			break
		}
	}
	return o
}

// In at most 5 % of the simulated evenings a pair is in the wrong order, or equal entries
// are told apart, at any look.
func TestRankingOfEvenings(t *testing.T) {
	sizes, times := []int{12}, 60
	if os.Getenv("KVLAB_LONG") == "1" {
		sizes, times = []int{12, 30}, 1000
	}
	for _, entries := range sizes {
		for _, e := range evenings {
			t.Run(fmt.Sprintf("%d, %s", entries, e.name), func(t *testing.T) {
				t.Parallel()
				wrong, split, bad, rounds, told := 0, 0, 0, 0, 0.0
				for i := range times {
					o := e.run(entries, rand.New(rand.NewPCG(17, uint64(i))))
					count := func(n *int, yes bool) {
						if yes {
							*n++
						}
					}
					count(&wrong, o.wrong)
					count(&split, o.split)
					count(&bad, o.wrong || o.split)
					rounds += o.rounds
					told += o.told
				}
				n := float64(times)
				t.Logf("of %d evenings %d with a wrong order, %d with a split; %.1f rounds, %.1f %% of the unequal pairs apart", times, wrong, split, float64(rounds)/n, 100*told/n)
				if bad*20 > times {
					t.Errorf("%d of %d evenings are wrong, more than 5 %%", bad, times)
				}
				if e.noise == 0.01 && e.noisy+e.disturbed == 0 && told < 0.9*n {
					t.Errorf("%.1f %% of the unequal pairs are told apart, want 90 %%", 100*told/n)
				}
			})
		}
	}
}

// A pair is tested by Student's t with the variance that Smyth's formula gives.
func TestPairs(t *testing.T) {
	e := math.E
	values := [][]float64{{e, e * e, e * e * e, 5}, {1, 1, 1, 0}, {1, e, 1, 0}}
	pairs := Pairs(values, nil, 0.1, 0.02)
	// The differences: 1, 2, 3 (variance 1); 1, 1, 3 (4/3); 0, -1, 0 (1/3). The median is 1.
	for i, want := range []struct{ mean, variance float64 }{{2, (4 + 2*1) / 6.0}, {5 / 3.0, (4 + 2*4/3.0) / 6}, {-1 / 3.0, (4 + 2/3.0) / 6}} {
		student := distuv.StudentsT{Sigma: 1, Nu: 6}
		se := math.Sqrt(want.variance / 3)
		p, q := pairs[i], student.Quantile(0.975)
		for _, pair := range [][2]float64{{p.Mean, want.mean}, {p.Low, want.mean - q*se}, {p.High, want.mean + q*se}, {p.P, 2 * student.CDF(-math.Abs(want.mean)/se)}} {
			if math.Abs(pair[0]-pair[1]) > 1e-12 {
				t.Errorf("pair %d: %v, want %v", i, pair[0], pair[1])
			}
		}
		if p.Apart != (i == 0 || i == 1) || p.Equal {
			t.Errorf("pair %d, p %.3g: %+v", i, p.P, p)
		}
	}
	ranks := Ranks(3, pairs)
	for i, want := range []Rank{{Rank: 1, High: 1, Slower: []int{1, 2}}, {Rank: 2, High: 3, Faster: []int{0}}, {Rank: 2, High: 3, Faster: []int{0}}} {
		if got := ranks[i]; got.Rank != want.Rank || got.High != want.High || !slices.Equal(got.Faster, want.Faster) || !slices.Equal(got.Slower, want.Slower) {
			t.Errorf("rank of %d: %+v, want %+v", i, got, want)
		}
	}
}

// Entries without common rounds, and values without noise.
func TestPairsOfFewValues(t *testing.T) {
	pairs := Pairs([][]float64{{2, 0, 0}, {0, 2, 2}, {0, 2, 2}, {0, 4, 4}}, nil, 0.05, 0.02)
	for _, p := range pairs {
		known := p.A > 0
		if apart := p.B == 3 && known; p.Apart != apart || p.Equal != (p.A == 1 && p.B == 2) || math.IsInf(p.High, 1) == known {
			t.Errorf("%+v", p)
		}
	}
	if Settled(pairs) || !Settled(pairs[len(pairs)-3:]) || len(Pairs(nil, nil, 0.05, 0.02)) != 0 {
		t.Error("settled")
	}
}

// Entries of two evenings, of which each has its own speed, are compared through the reference:
// Welch's test of their ratios. Where both were measured, their common rounds decide.
func TestPairsThroughReference(t *testing.T) {
	e := math.Exp
	reference := []float64{1, 1, 1, 2, 2}
	values := [][]float64{{e(1), e(2), e(3), 0, 0}, {0, 0, 0, 2 * e(5), 2 * e(7)}, {e(1.5), e(2.5), e(3.5), 2 * e(5), 2 * e(7)}}
	pairs := Pairs(values, reference, 0.05, 0.02)
	// Of the pairs, 0 and 2 differ by 0.5 in each round, and 1 and 2 by nothing: the median is 0.
	a, b := 2*1.0/6/3, 1*2.0/5/2
	want := estimate{2 - 6, math.Sqrt(a + b), (a + b) * (a + b) / (a*a/6 + b*b/5)}
	low, high := want.interval(0.95)
	if p := pairs[0]; math.Abs(p.Mean-want.mean) > 1e-12 || math.Abs(p.Low-low) > 1e-9 || math.Abs(p.High-high) > 1e-9 || math.Abs(p.P-2*want.below(0)) > 1e-12 && math.Abs(p.P-2*(1-want.below(0))) > 1e-12 {
		t.Errorf("%+v, want %+v", p, want)
	}
	for i, mean := range []float64{-0.5, 0} {
		if p := pairs[i+1]; math.Abs(p.Mean-mean) > 1e-12 || math.Abs(p.Low-p.High) > 1e-6 {
			t.Errorf("common rounds: %+v, want %v alone", p, mean)
		}
	}
}
