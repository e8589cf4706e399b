package workload

import (
	"math"
	"slices"
	"testing"
	"time"

	"kvlab/workload/profile"
)

// together returns the moments up to until of all workers of all nodes, in order.
func together(kind string, rate float64, seed uint64, nodes, workers int, until time.Duration) []time.Duration {
	var all []time.Duration
	var due [64]time.Duration
	for node := range nodes {
		for worker := range workers {
			a := NewArrivals(kind, rate, seed, Place{node, nodes, worker, workers})
			for n := len(due); n == len(due); {
				n = a.Due(until, due[:])
				all = append(all, due[:n]...)
			}
		}
	}
	slices.Sort(all)
	return all
}

// The k-th operation of all workers is due at k/rate, to the nanosecond.
func TestConstantArrivalsTakeTurns(t *testing.T) {
	for _, test := range []struct {
		rate           float64
		nodes, workers int
	}{{1000, 1, 1}, {1000, 3, 7}, {1e6, 2, 64}, {0.5, 1, 3}, {333.3, 2, 5}} {
		until := time.Duration(10_000 / test.rate * float64(time.Second))
		all := together(Constant, test.rate, 1, test.nodes, test.workers, until)
		if n := len(all); n < 10_000 || n > 10_001 {
			t.Fatalf("%+v: %d operations, want 10,000 and the one at the end", test, n)
		}
		for k, got := range all {
			if want := float64(k) / test.rate * 1e9; math.Abs(float64(got)-want) > 1.5 {
				t.Fatalf("%+v: operation %d is due at %v, want %v ns", test, k, got, want)
			}
		}
	}
}

// ks returns the Kolmogorov-Smirnov distance of values, which it sorts, from a
// distribution function.
func ks(values []float64, cdf func(float64) float64) float64 {
	slices.Sort(values)
	n, worst := float64(len(values)), 0.0
	for i, v := range values {
		f := cdf(v)
		worst = max(worst, f-float64(i)/n, float64(i+1)/n-f)
	}
	return worst
}

// ksLimit returns what the distance exceeds for one in 1,000 samples of the right
// distribution (the limit law's 99.9 % point; N. Smirnov, Ann. Math. Statist. 19,
// 1948).
func ksLimit(n int) float64 { return 1.9495 / math.Sqrt(float64(n)) }

// Gaps between operations are exponential: of one worker, and of all together.
func TestPoissonGapsAreExponential(t *testing.T) {
	const seed, rate = 7, 50_000.0
	t.Logf("seed %d", seed)
	for _, test := range []struct{ nodes, workers int }{{1, 1}, {2, 16}, {1, 64}} {
		all := together(Poisson, rate, seed, test.nodes, test.workers, 2*time.Second)
		gaps := make([]float64, len(all)-1)
		for i := range gaps {
			gaps[i] = (all[i+1] - all[i]).Seconds()
		}
		if d := ks(gaps, func(x float64) float64 { return -math.Expm1(-rate * x) }); d > ksLimit(len(gaps)) {
			t.Errorf("%+v: distance %.5f from the exponential distribution over %d gaps, limit %.5f", test, d, len(gaps), ksLimit(len(gaps)))
		}
		mean := 2 * rate
		if dev := math.Abs(float64(len(all)) - mean); dev > 4*math.Sqrt(mean) {
			t.Errorf("%+v: %d operations in 2 s, want %.0f within 4 standard deviations", test, len(all), mean)
		}
	}
}

// Counts of equal stretches are Poisson's: their variance is their mean.
func TestPoissonCountsHavePoissonVariance(t *testing.T) {
	const seed, rate, stretches, mean = 11, 10_000.0, 2000, 50.0
	t.Logf("seed %d", seed)
	all := together(Poisson, rate, seed, 2, 8, time.Duration(stretches*mean/rate*float64(time.Second)))
	counts := make([]float64, stretches)
	for _, at := range all {
		if i := int(at.Seconds() * rate / mean); i < stretches {
			counts[i]++
		}
	}
	// sum (x-m)^2/m is chi-square distributed with as many degrees of freedom:
	// approximately normal, of variance twice that.
	sum := 0.0
	for _, c := range counts {
		sum += (c - mean) * (c - mean) / mean
	}
	if z := (sum - stretches) / math.Sqrt(2*stretches); math.Abs(z) > 4 {
		t.Errorf("dispersion %.0f over %d stretches: %.1f standard deviations off", sum, stretches, z)
	}
}

// The moments are the same however they are cut into calls, in order, and their
// own for every seed, node and worker.
func TestArrivalsAreOneSequence(t *testing.T) {
	for _, kind := range []string{Poisson, Constant} {
		whole := together(kind, 1e6, 3, 1, 1, 10*time.Millisecond)
		a := NewArrivals(kind, 1e6, 3, Place{0, 1, 0, 1})
		var cut []time.Duration
		var due [7]time.Duration
		for now := time.Duration(0); now < 10*time.Millisecond; {
			if n := a.Due(now, due[:1+int(now/1000)%7]); n > 0 {
				cut = append(cut, due[:n]...)
			} else if now = a.Next(); a.Due(now-1, due[:]) != 0 {
				t.Fatalf("%s: Due returns what is due after now", kind)
			}
		}
		if len(cut) > len(whole) || !slices.Equal(cut, whole[:len(cut)]) || len(cut) < 9000 {
			t.Errorf("%s: %d moments in pieces differ from %d in one", kind, len(cut), len(whole))
		}
		if !slices.IsSorted(cut) {
			t.Errorf("%s: out of order", kind)
		}
	}
	seen := map[time.Duration]Place{}
	for node := range 4 {
		for worker := range 64 {
			p := Place{node, 4, worker, 64}
			first := NewArrivals(Poisson, 1000, 3, p).Next()
			if other, twice := seen[first]; twice {
				t.Errorf("%+v and %+v begin alike", p, other)
			}
			seen[first] = p
		}
	}
}

// The rate changes no operation: arrivals have random numbers of their own.
func TestArrivalsShareNoStream(t *testing.T) {
	node, worker := leaf(1, streamBranch, 0, 0)
	if n, w := leaf(1, arrivalBranch, 0, 0); n == node || w == worker {
		t.Error("operations and arrivals have a seed in common")
	}
}

func TestCheckArrivals(t *testing.T) {
	if err := CheckArrivals("Poisson"); err == nil || err.Error() != `-arrivals "Poisson": want one of poisson, constant; did you mean poisson?` {
		t.Errorf("error %v", err)
	}
}

// followed returns the times of all workers on a course that begins at opens, relative to it. They
// learn of it when learn has passed.
func followed(kind string, c *profile.Course, seed uint64, workers int, opens, until, learn time.Duration) (all []time.Duration) {
	var due [64]time.Duration
	for worker := range workers {
		a := NewArrivals(kind, c.First(), seed, Place{0, 1, worker, workers})
		take := func(until time.Duration) {
			for n := len(due); n == len(due); {
				n = a.Due(until, due[:])
				for _, at := range due[:n] {
					all = append(all, at-opens)
				}
			}
		}
		take(learn)
		a.Follow(c, opens)
		take(opens + until)
	}
	slices.Sort(all)
	return all
}

// course returns the course of a rate of one mean, and its length.
func course(t *testing.T, text string) (*profile.Course, time.Duration) {
	t.Helper()
	var r profile.Rate
	if err := r.Set(text); err != nil {
		t.Fatal(err)
	}
	length, err := r.Fit(0, false)
	if err != nil {
		t.Fatal(err)
	}
	return r.Course(r.OpsPerS), length
}

// changing are rates of each form, whose stages have 20 and more operations.
var changing = []string{"1k@100ms,9k@20ms,1k@100ms", "500..8k@100ms,200..0@150ms,0@50ms,3k@30ms", "2k~2k/40ms@100ms,2k@50ms"}

// Over many seeds the operations in each tenth of each stage are Poisson's, with the integral of its
// rate as their mean: the sum of (n-m)^2/m is chi-square distributed. Nor do the tenths before and
// after the opening differ, nor depends a time on when the worker learns of the course.
func TestArrivalsFollowACourse(t *testing.T) {
	const seeds, opens = 200, 37 * time.Millisecond
	for _, text := range changing {
		c, length := course(t, text)
		step := length / 100
		square, cells := 0.0, 0
		counts := make(map[int]float64)
		for seed := range uint64(seeds) {
			all := followed(Poisson, c, seed, 8, opens, length, 0)
			for _, at := range all {
				counts[int(math.Floor(float64(at)/float64(step)))]++
			}
			if seed > 3 {
				continue
			}
			if late := followed(Poisson, c, seed, 8, opens, length, opens-1); !slices.Equal(all, late) {
				t.Errorf("%s, seed %d: other times if the workers learn of the course late", text, seed)
			}
		}
		for i := -int(opens/step) + 1; i < 100; i++ {
			want := seeds * (c.Sum(time.Duration(i+1)*step) - c.Sum(time.Duration(i)*step))
			if want < 5 { // too few for the law
				continue
			}
			square, cells = square+(counts[i]-want)*(counts[i]-want)/want, cells+1
		}
		if z := (square - float64(cells)) / math.Sqrt(2*float64(cells)); math.Abs(z) > 4 || cells < 50 {
			t.Errorf("%s: chi-square %.1f of %d cells, %.1f standard deviations off (seeds 0 to %d)", text, square, cells, z, seeds-1)
		}
	}
}

// The k-th operation of all constant workers is due where the integral of the rate is k.
func TestConstantArrivalsFollowACourse(t *testing.T) {
	for _, text := range changing {
		c, length := course(t, text)
		const opens = 20 * time.Millisecond
		for k, at := range followed(Constant, c, 1, 7, opens, length-1, 0) {
			if sum := float64(k) + c.Sum(-opens); sum < c.Sum(at-3)-1e-6 || sum > c.Sum(at+3)+1e-6 {
				t.Fatalf("%s: operation %d is due at %v after the opening, where the sum is %v and not %v", text, k, at, c.Sum(at), sum)
			}
		}
	}
}
